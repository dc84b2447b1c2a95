// Rockpool as a plugin of OpenClaw: Claude Code sessions in the background, from any chat. The plugin holds no sessions; it passes
// calls to Rockpool's gateway, and Rockpool's messages to OpenClaw's chats.
import { registerCommands, registerMethods } from './commands.ts'
import type { OpenClawApi } from './openclaw-api.ts'
import { Service } from './service.ts'
import { table } from './table.ts'
import { registerTools } from './tools.ts'

/** In other modes of 2026.9.6 there is no runtime. 2026.1.30 names no mode. */
const modes: ReadonlyArray<string | undefined> = [undefined, 'full', 'discovery', 'tool-discovery']

export default {
  id: table.id,
  name: table.name,
  description: table.description,
  /** Logs nothing: in 2026.1.30 such lines would be part of the output of `openclaw … --json`. */
  register(api: OpenClawApi): void {
    if (!modes.includes(api.registrationMode)) return
    registerTools(api)
    registerCommands(api)
    registerMethods(api)
    let service: Service | undefined
    api.registerService({
      id: table.id,
      start(context) {
        service = new Service(api, context)
        service.start()
      },
      async stop() {
        await service?.stop()
        service = undefined
      },
    })
  },
}
