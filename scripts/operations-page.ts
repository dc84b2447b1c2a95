// Writes docs/operations.md from the operations themselves: `npm run docs`. A test keeps the page equal to the code.
import { writeFileSync } from 'node:fs'
import { allLocalCommands } from '../src/cli/commands.ts'
import { routes } from '../src/gateway/routes.ts'
import { topics } from '../src/gateway/subscriptions.ts'
import { toolName } from '../src/operations/agent-tools.ts'
import { aliases, underAlias, commandName } from '../src/operations/aliases.ts'
import { allOperations } from '../src/operations/all.ts'
import { fieldsOf } from '../src/operations/fields.ts'
import type { Field } from '../src/operations/fields.ts'
import type { Operation } from '../src/operations/operation.ts'

const intro = `# Operations

Everything that one can ask Rockpool to do, written from the code by \`npm run docs\`. An operation is one thing under three
names: the RPC method \`sessions.list\`, the command \`rockpool sessions list\`, the MCP tool \`sessions_list\`.

- **RPC** is JSON-RPC 2.0, over a WebSocket at \`/ws\` or over \`POST /rpc\`, with \`Authorization: Bearer <token>\`. A WebSocket
  without that header sends \`connect {"token", "scopes"?, "agentId"?}\` as its first frame; the last two only make it less.
- **Scopes**: \`read\` < \`write\` < \`admin\`, and \`read\` < \`approve\` < \`admin\`. The server decides what a token has.
- **Errors** carry \`data: {code, message, hint, retryable}\`; [errors.md](errors.md) has every code.
- What *acts* takes an \`idempotencyKey\` (1 to 200 characters): a repeat within a day gets the first answer.
- Unknown fields are refused. A frame has at most 1 MiB, JSON at most 64 levels.
`

export async function renderPage(): Promise<string> {
  const operations = await allOperations()
  const groups = Map.groupBy(operations, ({ name }) => name.split('.', 1)[0]!)
  const sections = [...groups].map(([group, members]) => `## ${group}\n\n${members.map(describe).join('\n')}`)
  return [intro, ...sections, await commandsPart(), subscriptionsPart(), routesPart()].join('\n')
}

function describe(operation: Operation): string {
  const { name, description, scope, changesState, destructive, forAgents, needsGateway, command } = operation
  const typed = underAlias(operation, aliases.command[commandName(name)])
  const facts = [
    `scope ${scope}`,
    ...(changesState ? ['acts'] : []),
    ...(destructive ? ['asks first'] : []),
    ...(needsGateway ? ['needs the gateway'] : []),
    ...(command?.hidden ? [] : [`command \`rockpool ${commandName(name)}\``]),
    ...(forAgents ? [`tool \`${toolName(name)}\``] : []),
    ...otherNames(name),
  ]
  const rows = fieldsOf(typed).map((field) => fieldRow(field, command?.positional ?? []))
  const table = rows.length > 0 ? `\n| field | takes | |\n|---|---|---|\n${rows.join('\n')}\n` : ''
  return `### ${name}\n\n${description}\n\n${facts.join(' · ')}\n${table}`
}

function otherNames(name: string): string[] {
  const named = Object.entries(aliases).flatMap(([door, table]) =>
    Object.entries(table as Record<string, { of: string }>)
      .filter(([alias, { of }]) => of === name && !(door === 'command' && alias === commandName(name)))
      .map(([alias]) =>
        door === 'command' ? `\`rockpool ${alias}\`` : door === 'chat' ? `\`/${alias}\`` : `\`${alias}\``,
      ),
  )
  return named.length > 0 ? [`also ${[...new Set(named)].join(', ')}`] : []
}

function fieldRow(field: Field, positional: readonly string[]): string {
  const takes =
    field.kind === 'choice' ? field.choices.map((choice) => `\`${choice}\``).join(' ') : field.kind
  const fallback = field.default === undefined ? '' : `, default \`${JSON.stringify(field.default)}\``
  const typed = positional.includes(field.name) ? 'argument' : `\`${field.flag}\``
  const needed = field.required ? ', needed' : ''
  const cells = [
    `\`${field.name}\` (${typed})`,
    `${takes}${field.nullable ? ' or null' : ''}${needed}${fallback}`,
    field.description,
  ]
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`
}

async function commandsPart(): Promise<string> {
  const local = await allLocalCommands()
  const rows = local.map(({ name, description }) => `| \`rockpool ${commandName(name)}\` | ${description} |`)
  return `## Commands of the terminal alone

They start, install or explain something, so they are no operations. Each has \`--help\` with its options and examples.

| command | |
|---|---|
${rows.join('\n')}
`
}

function subscriptionsPart(): string {
  const rows = topics.map(({ name, description, scope, input }) => {
    const fields = Object.keys(input.shape).map((field) => `\`${field}\``)
    return `| \`${name}.subscribe\` | ${fields.join(', ')} | ${scope} | ${description} |`
  })
  return `## Subscriptions

On a WebSocket. The answer is \`{subscriptionId, epoch, seq, gap}\`; then \`{"method":"event","params":{subscriptionId, epoch,
seq, event}}\` follows for each event. A client that was away gives \`since: {epoch, seq}\` of the last event that it saw: what it
missed is sent again, or \`gap\` is true and it has to read the current state again. A client that leaves 4 MiB unread is closed.

| method | takes | scope | |
|---|---|---|---|
${rows.join('\n')}
`
}

function routesPart(): string {
  const rows = Object.entries(routes).map(([route, { access }]) => `| \`${route}\` | ${access} |`)
  return `## HTTP

| route | opens for |
|---|---|
${rows.join('\n')}
| \`GET /\` and the files of the dashboard | everybody on this machine: the program, no data |
`
}

if (import.meta.main) writeFileSync('docs/operations.md', await renderPage())
