// The isolate's one core.

import module from "../../build/core.wasm";
import { Core } from "./core.mjs";

export const core = new Core(module);
