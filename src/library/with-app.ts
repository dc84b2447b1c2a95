// A function of the library opens the house for one piece of work and closes it again. How the house is opened comes
// from above: src/index.ts knows how the program is put together.
import type { App } from '../operations/app.ts'

export type WithApp = <T>(work: (app: App) => Promise<T>) => Promise<T>

export function withAppFrom(open: () => Promise<App>): WithApp {
  return async (work) => {
    const app = await open()
    try {
      return await work(app)
    } finally {
      await app.close()
    }
  }
}
