// Imports point one way: domain < rights < store · rpc · channels < the steps < coding · flow < operations < doors < entries.
const levels = [
  ['domain'],
  ['rights'],
  ['store', 'rpc', 'channels'],
  ['inbound', 'sessions', 'agent', 'replies', 'discovery', 'memory'],
  ['coding', 'flow'],
  ['operations'],
  ['gateway', 'mcp', 'cli', 'library'],
]
const folder = (names) => `^src/(${names.join('|')})/`

/** From a folder one may import the folder itself and every lower level, never a neighbour or a higher one. */
const layerRules = levels.flatMap((names, level) =>
  names.map((name) => ({
    name: `layer-${name}`,
    severity: 'error',
    from: { path: folder([name]), pathNot: '\\.test\\.ts$' },
    to: {
      path: '^src/',
      pathNot: [folder([name]), ...(level > 0 ? [folder(levels.slice(0, level).flat())] : [])],
    },
  })),
)

module.exports = {
  forbidden: [
    ...layerRules,
    { name: 'no-cycle', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'only-agent-imports-the-sdk',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(agent/|domain/sdk-contract\\.ts|.*\\.test\\.ts)' },
      to: { path: 'claude-agent-sdk' },
    },
    {
      name: 'only-store-opens-databases',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(store/|.*\\.test\\.ts)' },
      to: { path: '^(node:)?sqlite$|node_modules/pg/' },
    },
  ],
  options: {
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'types', 'node', 'default'] },
  },
}
