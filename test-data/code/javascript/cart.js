/*
 * Copyright 2026 The Shop Authors.
 */
'use strict';

import { readFile } from 'node:fs/promises';
import express from 'express';

export const TAX = 0.19;
export const CURRENCIES = ['EUR', 'USD'], FALLBACK = 'EUR';

const app = express();
const secret = process.env.CART_SECRET ?? 'a long fallback that nobody should ever use';
let count;

// The rates of all countries.
const RATES = {
  de: 0.19,
  fr: 0.2,
};

const { port, host: address = 'localhost', ...others } = await load();

/**
 * Adds up.
 * @param {number[]} prices
 */
export function total(prices, { tax = TAX } = {}) {
  const sum = (a, b) => a + b;
  function withTax(price) {
    return price * (1 + tax);
  }
  const cached = useCallback(() => {
    return prices;
  }, []);
  const doubled = prices.map((price) => {
    return price * 2;
  });
  return withTax(prices.reduce(sum, 0));
}

export default class Cart extends EventTarget {
  static #count = 0;
  items = [];
  onChange = (event) => {
    this.dispatchEvent(event);
  };

  constructor(owner) {
    super();
    this.owner = owner;
  }

  static {
    Cart.#count = 1;
  }

  /** The number of items. */
  get size() {
    return this.items.length;
  }

  set size(value) {
    this.items.length = value;
  }

  async *[Symbol.asyncIterator]() {
    yield* this.items;
  }

  #reset() {
    this.items = [];
  }

  'quoted name'() { return 1; }
}

export const double = (x) => x * 2;

export const fetchCart = (id) => async (dispatch, getState) => {
  const cart = await load(id);
  dispatch({ type: 'cart', cart });
};

function* ids() {
  let id = 0;
  while (true) yield id++;
}

async function load(id) {
  return JSON.parse(await readFile(`${id}.json`));
}

export const api = {
  version: 2,
  // Lists all carts.
  list() {
    return [];
  },
  async remove(id) {
    await load(id);
  },
  create: function (owner) {
    return new Cart(owner);
  },
  nested: {
    deep: () => {
      return 1;
    },
    plain: 1,
  },
  get first() { return this.list()[0]; },
};

export const store = createStore({
  actions: {
    add(item) {
      this.items.push(item);
    },
  },
});

app.get('/carts', (request, response) => {
  const found = api.list();
  function render(cart) {
    return cart.owner;
  }
  response.send(found.map(render));
});

if (app.debug) {
  const inner = 1;
  app.trace = () => inner;
}

for (let i = 0; i < 3; i++) count = i;

export { ids as identifiers };
