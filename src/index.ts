// The library: `import … from 'rockpool'`.
export { RockpoolError } from './domain/errors.ts'
