// The parts whose code is loaded only when a command needs them: listing a few sessions does not.
export { openCodingWorld } from './coding.ts'
export { openDiscoveryOf } from './discovery.ts'
export { openSearch } from './search.ts'
export { smallModelOf } from './small-model.ts'
export { sqliteDecisions } from '../store/decisions.ts'
