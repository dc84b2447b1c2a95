// The terminal as the command line sees it, so that tests can stand in for it.

export interface Terminal {
  out(text: string): void
  err(text: string): void
  /** Is a person reading stdout? */
  isInteractive: boolean
  /** Can a person answer a question? */
  canAsk: boolean
  width: number
  color: boolean
}

export function processTerminal(variables: Readonly<Record<string, string | undefined>>): Terminal {
  const { stdout } = process
  // A reader that closed the pipe (`| head`) is not an error.
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0)
    throw error
  })
  return {
    out: (text) => void stdout.write(text),
    err: (text) => void process.stderr.write(text),
    isInteractive: stdout.isTTY,
    // Opened when it is asked for: most commands neither read stdin nor complain.
    get canAsk() {
      return stdout.isTTY && process.stdin.isTTY
    },
    width: stdout.columns ?? 100,
    color: wantsColor(variables, stdout.isTTY),
  }
}

export function wantsColor(variables: Readonly<Record<string, string | undefined>>, isTty: boolean): boolean {
  if (variables['NO_COLOR']) return false
  if (variables['FORCE_COLOR']) return variables['FORCE_COLOR'] !== '0'
  return isTty && variables['TERM'] !== 'dumb'
}
