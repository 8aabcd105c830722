// What the browser and the build bring.
declare const BUILD: string;
declare let debug: boolean, level: number;

declare function track(name: string): void;
declare function track(name: string, value: number): void;

declare module 'assets/*' {
  const url: string;
  export default url;
  export function load(name: string): Promise<string>;
}

declare global {
  interface Window {
    app: App;
  }

  var shared: number;
}

declare namespace NodeJS {
  interface ProcessEnv {
    readonly HOME: string;
  }
}

declare class App {
  start(): void;
  readonly state: 'on' | 'off';
}

interface App {
  stop(): void;
}
