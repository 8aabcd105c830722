/*! A library, as many are wrapped. */
(function (root, factory) {
  if (typeof module === 'object') {
    module.exports = factory();
  } else {
    root.library = factory();
  }
})(this, function () {
  'use strict';

  var version = '3.1';

  /** Draws. */
  function draw(shape) {
    function inner() {
      return shape;
    }
    return inner();
  }

  shapes.forEach(function (shape) {
    var hidden = shape;
    function each() {}
  });

  return { draw: draw };
});

define(['a', 'b'], function (a, b) {
  const table = [a, b];

  class Loader {
    load() {
      return table;
    }
  }
});

var Counter = function () {
  function Counter() {}
  return Counter;
}();
