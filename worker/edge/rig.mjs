// Points at which a test may stop this host (docs/protocol.md, "Points"). This is the module that is deployed: nothing
// happens. Tests put rig_test.mjs in its place.

export function committing() {}

export function committed() {}

export function effect() {}

export function handle() {}

export function reset() {}
