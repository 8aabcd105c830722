/**
 * @license
 * Copyright 2026 The Shapes Authors
 */
import { Injectable, Input, HostListener } from './framework';
import type { Point } from './point';

/** The length of a side. */
export type Side = number;

type Listener<T = unknown> = (event: T, ...rest: unknown[]) => void;

export type ShapeOptions = {
  name: string;
  sides?: Side[];
  onChange(event: Event): void;
};

type Result =
  | { ok: true; value: Shape }
  | { ok: false; error: Error };

export interface Shape {
  readonly name: string;
  /** Its area. */
  area(): number;
  scale(by: number): Shape;
  scale(
    x: number,
    y: number,
  ): Shape;
  origin: {
    x: number;
    y: number;
  };
  [key: string]: unknown;
}

export const enum Color {
  Red = 'red',
  Green = 'green',
}

enum Level { Low, High }

export function draw(shape: Shape): void;
export function draw(shape: Shape, color: Color): void;
/**
 * Draws a shape.
 */
export function draw(
  shape: Shape, // what
  color: Color = Color.Red,
): void {
  const inner = (level: Level): number => {
    return level;
  };
  console.log(shape, color, inner(Level.Low));
}

@Injectable({
  scope: 'all',
})
export class Square<T extends Shape = Shape> implements Shape {
  static readonly corners = 4;
  @Input() name = 'square';
  private readonly side?: Side;
  protected listeners = new Map<string, Listener>();
  #secret: string | undefined;
  origin!: { x: number; y: number };

  constructor(private options: ShapeOptions, side: Side) {
    this.side = side;
  }

  area(): number {
    return this.side! ** 2;
  }

  scale(by: number): Shape;
  scale(x: number, y: number): Shape;
  scale(x: number, y = x): Shape {
    return new Square(this.options, x * y);
  }

  // Hears of moves.
  @HostListener('move', ['$event'])
  onMove(event: Event): void {
    this.listeners.get('move')?.(event);
  }

  get half(): number {
    return this.area() / 2;
  }

  private reset = async (): Promise<void> => {
    this.#secret = undefined;
  };
}

export abstract class Base {
  abstract id(): string;
  protected abstract readonly kind: string;

  private hide() {}
}

export default class extends Base {
  kind = 'none';

  id() {
    return 'none';
  }
}

export namespace Geometry {
  export const PI = 3.14;
  const precise = false;

  export namespace Deep {
    export function turn(point: Point): Point {
      return point;
    }
  }

  function helper(): boolean {
    return precise;
  }
}

const registry: Record<string, typeof Base> = {};

export const defaults = {
  color: Color.Red,
  make(side: Side) {
    return new Square({ name: 'made', onChange() {} }, side);
  },
} satisfies Record<string, unknown>;

export function timestamped<C extends new (...args: any[]) => object>(Of: C) {
  return class Timestamped extends Of {
    at = Date.now();

    age(): number {
      return Date.now() - this.at;
    }
  };
}

export { registry };

declare global {
  interface Window {
    shapes: Shape[];
  }
}
