// Our chat commands as commands of the application, so that Discord lists them when a person types a slash.
import { ApplicationCommandOptionType, ApplicationCommandType, Routes } from 'discord.js'
import type { REST } from 'discord.js'
import type { CommandInfo } from '../domain/channel.ts'

/** Discord's limits. */
const maxCommands = 100
const maxDescription = 100

/** Replaces what is registered: a command that we no longer have disappears. */
export async function registerCommands(
  rest: REST,
  applicationId: string,
  commands: readonly CommandInfo[],
): Promise<void> {
  const body = commands.slice(0, maxCommands).map(({ name, says, usage }) => ({
    type: ApplicationCommandType.ChatInput,
    name,
    description: says.slice(0, maxDescription),
    options: usage === undefined ? [] : [optionFor(usage)],
  }))
  await rest.put(Routes.applicationCommands(applicationId), { body })
}

/** Everything that follows a command is one text, as when it is typed. */
function optionFor(usage: string): object {
  const description = usage.slice(0, maxDescription)
  return { type: ApplicationCommandOptionType.String, name: 'text', description, required: false }
}
