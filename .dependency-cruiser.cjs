// Imports point one way. Every folder below src/ has its place in this list; a new one fails the check until it is placed.
const levels = [
  ['domain'],
  ['rights'],
  ['store', 'rpc', 'channels'],
  ['inbound', 'sessions', 'agent', 'replies', 'discovery', 'search', 'vault'],
  ['coding', 'flow', 'schedules', 'mail', 'why'],
  ['claude-hooks'],
  ['operations'],
  ['gateway', 'mcp', 'cli', 'chat', 'library'],
  ['compose'],
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
    {
      name: 'every-folder-has-its-place',
      severity: 'error',
      from: { path: '^src/[^/]+/', pathNot: folder(levels.flat()) },
      to: {},
    },
    { name: 'no-cycle', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'only-agent-imports-the-sdk',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(agent/|domain/sdk-contract\\.ts|.*\\.test\\.ts)' },
      to: { path: 'claude-agent-sdk' },
    },
    {
      name: 'only-store-knows-postgresql',
      severity: 'error',
      from: {
        path: '^src/',
        pathNot: '^src/(store/|operations/system/(db|db-copy)\\.ts|sdk-session-store\\.ts|.*\\.test\\.ts)',
      },
      to: { path: '^src/store/postgres/' },
    },
    {
      name: 'only-store-opens-databases',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(store/|.*\\.test\\.ts)' },
      to: { path: '^(node:)?sqlite$|node_modules/pg/' },
    },
    {
      // The program uses Message, Reply and its own session shape; OpenClaw's are for programs that build on the library.
      name: 'openclaw-shapes-stay-in-the-library',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(library/|index\\.ts|.*\\.test\\.ts)' },
      to: { path: '^src/library/' },
    },
  ],
  options: {
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'types', 'node', 'default'],
    },
  },
}
