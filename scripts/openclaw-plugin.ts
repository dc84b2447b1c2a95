// Builds plugins/openclaw/dist, the package that OpenClaw installs: one bundled file, its manifest, its package.json. The tools,
// commands and gateway methods are generated from the operations, so that nothing is written twice.
import { copyFileSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { rolldown } from 'rolldown'
import type { PluginTable } from '../plugins/openclaw/src/table.ts'
import { codingCommandInfos } from '../src/operations/coding/command-words.ts'
import { operationTools } from '../src/operations/agent-tools.ts'
import { findAlias } from '../src/operations/aliases.ts'
import { allOperations, findOperation } from '../src/operations/all.ts'
import { z } from 'zod'

const folder = 'plugins/openclaw'
const tableFile = `${folder}/src/table.json`

/** The tools that the seed names, then those that came later, under names of the same kind. */
const toolNames = 'launch sessions output respond kill fg bg stats'.split(' ').map((name) => `claude_${name}`)
const moreTools: Readonly<Record<string, string>> = {
  claude_select: 'cc.select',
  claude_search: 'sessions.search',
  claude_why: 'cc.why',
}
const commandNames = [
  'claude',
  ...'sessions kill fg bg resume respond stats approve deny'.split(' ').map((name) => `claude_${name}`),
]
const methodNames = 'sessions launch kill output stats'.split(' ').map((name) => `claude-code.${name}`)

/** Written before the checks and the build; it is not kept in git, so it cannot be stale. */
export async function writePluginTable(): Promise<PluginTable> {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }
  const table: PluginTable = {
    id: 'rockpool-openclaw',
    name: 'Rockpool',
    description: 'Claude Code sessions in the background, from any chat',
    version,
    tools: [...(await namedTools()), ...(await otherTools())],
    commands: commandNames.map(commandRow),
    methods: [...(await methods()), { name: 'claude-code.health', scope: 'read' }],
  }
  const text = `${JSON.stringify(table, null, 2)}\n`
  if (!existsSync(tableFile) || readFileSync(tableFile, 'utf8') !== text) writeFileSync(tableFile, text)
  return table
}

async function namedTools(): Promise<PluginTable['tools']> {
  const never = (): Promise<never> => Promise.reject(new Error('Only the descriptions are used.'))
  const tools = await operationTools(['read', 'write'], never)
  return toolNames.map((name) => {
    const { description, inputSchema, operation } = tools.find((tool) => tool.name === name)!
    return { name, operation: operation.name, description, parameters: inputSchema }
  })
}

/** Those of the later tools whose operation exists. */
async function otherTools(): Promise<PluginTable['tools']> {
  const operations = await allOperations()
  return Object.entries(moreTools).flatMap(([name, of]) => {
    const operation = operations.find((each) => each.name === of)
    if (!operation) return []
    const { $schema: _, ...parameters } = z.toJSONSchema(operation.input, {
      io: 'input',
      unrepresentable: 'any',
    })
    return [{ name, operation: of, description: operation.description, parameters }]
  })
}

/** `/claude_approve` is Rockpool's `/approve`: OpenClaw has a command of that name. */
function commandRow(name: string): PluginTable['commands'][number] {
  const own = name.replace(/^claude_(?=approve|deny)/, '')
  const { description, usage } = codingCommandInfos().find((each) => each.name === own)!
  return { name, description: usage === undefined ? description : `${description} ${usage}` }
}

async function methods(): Promise<PluginTable['methods']> {
  return Promise.all(
    methodNames.map(async (name) => {
      const operation = await findOperation(findAlias('rpc', name)!.of)
      return { name, scope: operation!.scope }
    }),
  )
}

export async function buildOpenClawPlugin(): Promise<void> {
  const table = await writePluginTable()
  rmSync(`${folder}/dist`, { recursive: true, force: true })
  const bundle = await rolldown({
    input: `${folder}/src/index.ts`,
    platform: 'node',
    external: /^node:/,
    treeshake: { moduleSideEffects: false },
    // The library `ws` would look for native parts of it beside OpenClaw.
    transform: {
      define: { 'process.env.WS_NO_BUFFER_UTIL': '"1"', 'process.env.WS_NO_UTF_8_VALIDATE': '"1"' },
    },
  })
  await bundle.write({
    file: `${folder}/dist/index.cjs`,
    // 2026.1.30 translates modules of any other format when it first loads them: half a second and 42 MB.
    format: 'cjs',
    codeSplitting: false,
    exports: 'named',
  })
  writeJson('package.json', packageOf(table))
  writeJson('openclaw.plugin.json', manifestOf(table))
  copyFileSync(`${folder}/README.md`, `${folder}/dist/README.md`)
  copyFileSync('LICENSE', `${folder}/dist/LICENSE`)
}

function packageOf({ id, version, description }: PluginTable): object {
  const oldest = '2026.1.30'
  return {
    name: id,
    version,
    description,
    license: 'MIT',
    main: './index.cjs',
    files: ['index.cjs', 'openclaw.plugin.json'],
    openclaw: {
      extensions: ['./index.cjs'],
      compat: { pluginApi: `>=${oldest}`, minGatewayVersion: oldest },
    },
    peerDependencies: { openclaw: `>=${oldest}` },
    peerDependenciesMeta: { openclaw: { optional: true } },
  }
}

/** 2026.9.6 offers only tools that `contracts` names; before, the field is ignored. */
function manifestOf({ id, name, description, version, tools, commands }: PluginTable): object {
  return {
    id,
    name,
    description,
    version,
    categories: ['developer-tools'],
    activation: { onStartup: true, onCommands: commands.map((command) => command.name) },
    contracts: { tools: tools.map((tool) => tool.name) },
    configSchema: {
      type: 'object',
      additionalProperties: false,
      properties: {
        url: {
          type: 'string',
          description: "The address of Rockpool's gateway; by default it is found as tokenFile says.",
        },
        tokenFile: {
          type: 'string',
          description:
            'The file that `rockpool openclaw install` wrote; by default rockpool-plugin.json beside openclaw.json.',
        },
        start: { type: 'boolean', description: 'Start a gateway with `command` when none runs.' },
        command: {
          type: 'array',
          items: { type: 'string' },
          minItems: 1,
          description: 'The program `rockpool`: its path and its first arguments.',
        },
        agents: {
          type: 'object',
          additionalProperties: { type: 'object' },
          description:
            'For each agent of OpenClaw: repositories, model, budget and other settings of its coding sessions.',
        },
      },
    },
  }
}

function writeJson(name: string, value: object): void {
  writeFileSync(`${folder}/dist/${name}`, `${JSON.stringify(value, null, 2)}\n`)
}
