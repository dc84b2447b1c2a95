// Checks a token with the platform before it is stored, and returns the bot's name so that a person can recognize it.
import { RockpoolError } from '../domain/errors.ts'

interface BotIdentity {
  id: string
  name: string
}

interface TokenCheck {
  channel: string
  token: string
  apiRoot?: string
}

const patterns: Readonly<Record<string, { rule: RegExp; where: string }>> = {
  telegram: {
    rule: /^\d{3,20}:[\w-]{20,100}$/,
    where: 'Copy it from @BotFather; it looks like 123456789:AA….',
  },
  discord: {
    rule: /^[\w-]{6,40}\.[\w-]{4,12}\.[\w-]{20,80}$/,
    where: 'Copy it from the Bot page of your application.',
  },
}

const askMs = 15_000

export async function checkToken({ channel, token, apiRoot }: TokenCheck): Promise<BotIdentity> {
  const pattern = patterns[channel]
  if (!pattern) throw new RockpoolError('input-invalid', `${channel} has no token.`)
  if (!pattern.rule.test(token))
    throw new RockpoolError('input-invalid', `That is not a token of ${channel}.`, { hint: pattern.where })
  return channel === 'telegram'
    ? askTelegram(token, apiRoot ?? 'https://api.telegram.org')
    : askDiscord(token, apiRoot ?? 'https://discord.com/api')
}

async function askTelegram(token: string, root: string): Promise<BotIdentity> {
  const answer = await ask(`${root}/bot${token}/getMe`, {}, 'Telegram')
  const { result } = answer as { result: { id: number; username: string } }
  return { id: String(result.id), name: `@${result.username}` }
}

async function askDiscord(token: string, root: string): Promise<BotIdentity> {
  const answer = await ask(`${root}/v10/users/@me`, { authorization: `Bot ${token}` }, 'Discord')
  const { id, username } = answer as { id: string; username: string }
  return { id, name: username }
}

/** Errors never contain the address: it may hold the token. */
async function ask(url: string, headers: Record<string, string>, platform: string): Promise<unknown> {
  const signal = AbortSignal.timeout(askMs)
  const response = await fetch(url, { headers, signal, redirect: 'error' }).catch(() => {
    // No cause: it would contain the address.
    throw new RockpoolError('unavailable', `${platform} could not be reached.`, {
      hint: 'Check the network, then try again. Nothing was changed.',
    })
  })
  if (response.ok) return response.json()
  const isBad = response.status === 401 || response.status === 404
  throw new RockpoolError(
    isBad ? 'unauthorized' : 'unavailable',
    isBad ? `${platform} does not know this token.` : `${platform} answered ${response.status}.`,
    { hint: isBad ? 'Make a new token and try again. Nothing was changed.' : 'Try again in a moment.' },
  )
}
