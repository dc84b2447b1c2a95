// The command line's entry, called by bin/rockpool.js.

export async function main(args: string[]): Promise<void> {
  process.stdout.write(`rockpool ${args.join(' ')}\n`)
}
