// `rockpool channels add`: asks for the token of a platform or shows a QR code, adds the channel, and prints the next steps.
import { readFile } from 'node:fs/promises'
import { text as readAll } from 'node:stream/consumers'
import { styleText } from 'node:util'
import { z } from 'zod'
import { RockpoolError } from '../domain/errors.ts'
import type { OperationClient } from './call-operation.ts'
import { pageOf } from './host.ts'
import type { Host, LocalCommand } from './host.ts'

const howTo: Readonly<Record<string, { intro: string; steps: string[] }>> = {
  telegram: {
    intro: 'A bot on Telegram is made in a chat with @BotFather:',
    steps: [
      'Open https://t.me/BotFather and send /newbot.',
      'Give it a name, then a username that ends in "bot".',
      'Copy the token that it answers with.',
    ],
  },
  discord: {
    intro: 'A bot on Discord is made at https://discord.com/developers/applications:',
    steps: [
      'New Application, then the page Bot.',
      'Switch on "Message Content Intent" there, and save.',
      'Reset Token, and copy it.',
      'On the page OAuth2, choose `bot` and `applications.commands` with Send Messages, Send Messages in Threads, Read Message History and Attach Files, and open the link that it makes.',
    ],
  },
  whatsapp: {
    intro: 'WhatsApp is linked like a browser. Use a separate number: the agent answers as that number.',
    steps: ['On the phone: Settings, Linked devices, Link a device.', 'Scan the code that appears here.'],
  },
}

const linkMs = 180_000

const addInput = z.strictObject({
  channel: z.enum(['telegram', 'discord', 'whatsapp']).describe('The platform.'),
  account: z.string().default('default').describe('A name for the account, if you have several.'),
  tokenFile: z
    .string()
    .optional()
    .describe('A file with the token; without it the token is asked for, or read from stdin.'),
})

export const commands: LocalCommand[] = [
  {
    name: 'channels.add',
    description: 'Set up Telegram, Discord or WhatsApp.',
    input: addInput,
    command: {
      positional: ['channel'],
      examples: [
        'rockpool channels add telegram',
        'rockpool channels add whatsapp',
        'rockpool channels add discord < token.txt',
      ],
    },
    async run(host, input, json) {
      const { channel, account, tokenFile } = input as z.output<typeof addInput>
      const { openClient } = await import('./call-operation.ts')
      const client = await openClient(host)
      try {
        if (!json) await explain(host, channel)
        const token = channel === 'whatsapp' ? undefined : await tokenFor(host, channel, tokenFile)
        const added = await client.call('channels.add', { channel, accountId: account, token })
        if (channel === 'whatsapp') await showQrUntilLinked(host, client, account)
        return added
      } finally {
        await client.close()
      }
    },
  },
]

async function explain(host: Host, channel: string): Promise<void> {
  const { numbered, prose } = await import('./print.ts')
  const page = pageOf(host)
  const { intro, steps } = howTo[channel]!
  host.terminal.err(`${prose(intro, page)}\n${numbered(steps, page)}\n\n`)
}

/** Never from an argument: arguments are in the shell's history and in the list of processes. */
async function tokenFor(host: Host, channel: string, file: string | undefined): Promise<string> {
  if (file !== undefined) return readTokenFile(file)
  if (!host.terminal.canAsk) return (await readAll(process.stdin)).trim()
  const prompts = await import('@clack/prompts')
  const answer = await prompts.password({ message: `The token of your bot on ${channel}` })
  if (typeof answer === 'string' && answer.trim() !== '') return answer.trim()
  throw new RockpoolError('refused', 'No token was given; nothing changed.')
}

async function readTokenFile(file: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).trim()
  } catch (error) {
    throw new RockpoolError('not-found', `The token cannot be read from ${JSON.stringify(file)}.`, {
      hint: 'Check the name and the permissions of the file. Nothing was changed.',
      cause: error,
    })
  }
}

async function showQrUntilLinked(host: Host, client: OperationClient, account: string): Promise<void> {
  const { toString } = await import('qrcode')
  const end = host.now() + linkMs
  let shown = ''
  while (host.now() < end) {
    const { channels } = await client.call('channels.status', {})
    const row = channels.find((one) => one.channel === 'whatsapp' && one.accountId === account)
    if (row?.state === 'connected') return
    if (row?.state === 'failed')
      throw new RockpoolError('unavailable', row.lastError ?? 'WhatsApp refused the link.')
    const qr = row?.needs?.kind === 'qr' ? row.needs.detail : ''
    if (qr !== '' && qr !== shown) {
      const code = await toString(qr, { type: 'utf8' })
      host.terminal.err(`${host.terminal.color ? onWhite(code) : code}\nScan this code with the phone.\n`)
    }
    shown = qr || shown
    await new Promise((resolve) => setTimeout(resolve, 500))
  }
  throw new RockpoolError('timed-out', 'The code was not scanned.', {
    hint: 'Have the phone ready and run `rockpool channels add whatsapp` again.',
  })
}

/** Phones need dark on light; most terminals are light on dark. */
function onWhite(code: string): string {
  const lines = code.split('\n').filter((line) => line.trim() !== '')
  const blank = ' '.repeat(lines[0]?.length ?? 0)
  return [blank, ...lines, blank]
    .map((line) => styleText(['black', 'bgWhiteBright'], line, { validateStream: false }))
    .join('\n')
}
