// A module of Node.js, as they were.
var fs = require('fs');
var join = require('path').join;

var DEFAULTS = { depth: 3, follow: false };

/** Walks through folders. */
function Walker(root) {
  this.root = root;
}

Walker.prototype.walk = function (done) {
  var self = this;
  fs.readdir(self.root, function onRead(error, names) {
    function next(name) {
      done(null, join(self.root, name));
    }
    names.forEach(next);
  });
};

Walker.prototype.stop = function () {};

// Makes one.
Walker.create = function create(root) {
  return new Walker(root);
};

Walker.VERSION = '1';

function unused() {}

exports.find = function (root, name) {
  return Walker.create(root).walk(name);
};

exports.DEPTH = 3;
exports.Walker = Walker;
module.exports.late = async () => {
  await null;
};

(function () {
  var hidden = 1;
  let table = [
    'a',
    'b',
  ];

  function start() {
    return hidden;
  }

  window.app = function () {
    return start() + table.length;
  };
})();
