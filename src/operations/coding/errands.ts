// What other machines ask of this one: to launch or resume a session in a repository that is here, to say what is checked
// out, to go on with what they handed over. What they send was checked where it was asked for.
import type { ResumeOptions } from '../../coding/pool.ts'
import type { App } from '../app.ts'
import { launchHere } from './coding-launch.ts'
import type { LaunchInput } from './coding-launch.ts'
import type { Caller } from '../operation.ts'
import { lookAt } from './which-machine.ts'

interface LaunchErrand {
  id: string
  input: LaunchInput & { workdir: string }
  caller: Caller
}

interface ResumeErrand {
  ref: string
  prompt: string
  options: ResumeOptions
}

export function serveErrands(app: App): void {
  const { machines, pool } = app.coding()
  machines?.open({
    async launch(_desk, given) {
      // As `launchThere` wrote it.
      const { id, input, caller } = given as unknown as LaunchErrand
      const { action, reason } = await launchHere(app, input, caller, id)
      return { action, reason }
    },
    async resume(_desk, given) {
      // As `resumeThere` wrote it.
      const { ref, prompt, options } = given as unknown as ResumeErrand
      await pool.resume(ref, prompt, options)
    },
    look: (_desk, { path }) => lookAt(app, machines.name, String(path)),
    'take-over': () => pool.takeOver(),
  })
}
