// What background sessions are run and chosen with.
export { openCodingWorld } from './coding.ts'
export { smallModelOf } from './small-model.ts'
export { sqliteDecisions } from '../store/sqlite/decisions.ts'
export { sharedDecisions } from '../store/postgres/approval-store.ts'
