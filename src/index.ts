// The library: `import … from 'rockpool'`.
export { RockpoolError } from './domain/errors.ts'
export {
  buildAgentMainSessionKey,
  buildAgentPeerSessionKey,
  resolveGroupSessionKey,
} from './domain/session-key.ts'
export { parseAgentSessionKey } from './domain/session-key-forms.ts'
