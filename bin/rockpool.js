#!/usr/bin/env node
// The entry. Kept in plain, old JavaScript, so that an old Node can read it and say what is wrong.

// A part of Node that is imported loads all that it has; a newer Node gives it as it is.
const builtin = (id) => (process.getBuiltinModule ? process.getBuiltinModule(id) : import(id))
const { existsSync, readFileSync, statSync } = await builtin('node:fs')
const { fileURLToPath } = await builtin('node:url')
const root = fileURLToPath(new URL('..', import.meta.url))
/** Some 15,000 transcripts. */
const largeIndexBytes = 1 << 25
const [major, minor] = process.versions.node.split('.').map(Number)

if (major > 22 || (major === 22 && minor >= 13)) await start()
else await restartWithPinnedNode()

async function start() {
  if (process.argv[2] === 'up') {
    waitForDiskInMoreThreads()
    returnFreedMemory()
    restartWithShortPauses()
  } else await keepYoungGenerationSmall()
  const only = process.argv.length === 3 ? process.argv[2] : ''
  if (only === '--version' || only === '-V') {
    process.stdout.write(JSON.parse(readFileSync(`${root}package.json`, 'utf8')).version + '\n')
    return
  }
  if (!existsSync(`${root}dist/main.js`)) fail('Rockpool is not built yet. Run `npm run build` in ' + root)
  const { enableCompileCache } = await builtin('node:module')
  enableCompileCache()
  if (only === 'statusline') {
    const { main } = await import('../dist/statusline.js')
    main(fileURLToPath(import.meta.url))
    return
  }
  process.removeAllListeners('warning').on('warning', (warning) => {
    if (warning.name !== 'ExperimentalWarning') process.stderr.write(`${warning.name}: ${warning.message}\n`)
  })
  // zod reads this when a schema is made. Compiled schemas pay for a server; a command checks one input and is done.
  if (process.argv[2] !== 'up' && process.argv[2] !== 'mcp') globalThis.__zod_globalConfig = { jitless: true }
  const { main } = await import('../dist/main.js')
  await main(process.argv.slice(2))
}

/**
 * Every message waits for the disk a few times, each time in a thread. With Node's four, a hundred sessions wait for
 * each other; with more, the file system brings what they wrote to disk together.
 */
function waitForDiskInMoreThreads() {
  process.env.UV_THREADPOOL_SIZE ??= '16'
}

/**
 * glibc keeps what the gateway frees: up to 64 MB after one large answer, and more for each thread. With fixed thresholds
 * and two arenas it returns that memory to the system. It reads these variables when a process begins; other systems
 * ignore them.
 */
function returnFreedMemory() {
  process.env.MALLOC_ARENA_MAX ??= '2'
  process.env.MALLOC_TRIM_THRESHOLD_ ??= '131072'
  process.env.MALLOC_MMAP_THRESHOLD_ ??= '131072'
}

/**
 * A young generation of the usual size is collected in pauses of 35 ms and more, in which the gateway answers
 * nobody. A very small one is collected so often that messages take longer (docs/decisions/0303). Its size can be given
 * only when a process begins, so this one begins anew, with the same number; unless the size was given.
 */
function restartWithShortPauses() {
  if (!process.execve || process.execArgv.some((given) => given.startsWith('--max-semi-space-size'))) return
  const program = fileURLToPath(import.meta.url)
  process.execve(process.execPath, [
    process.execPath,
    ...process.execArgv,
    '--max-semi-space-size=16',
    program,
    ...process.argv.slice(2),
  ])
}

/**
 * While a command reads an index of very many transcripts, V8 lets its young generation grow to 64 MB (docs/decisions/0315).
 * A growth factor of 1 keeps its first size. With a gateway, the gateway reads the index.
 */
async function keepYoungGenerationSmall() {
  const [first, second] = process.argv.slice(2)
  if (first !== 'cc' || (second !== 'list' && second !== 'costs')) return
  const state = process.env.ROCKPOOL_STATE_DIR || `${process.env.HOME}/.rockpool`
  const index = statSync(`${state}/index/discovery.sqlite`, { throwIfNoEntry: false })
  if (!index || index.size <= largeIndexBytes || existsSync(`${state}/gateway.json`)) return
  const { setFlagsFromString } = await builtin('node:v8')
  setFlagsFromString('--semi-space-growth-factor=1')
}

/** A checkout brings its own Node; use it when we were started by an older one. */
async function restartWithPinnedNode() {
  const pinned = `${root}node_modules/node/bin/node`
  if (!existsSync(pinned)) fail(`Rockpool needs Node 22.13 or newer; this is ${process.versions.node}.`)
  const { spawn } = await builtin('node:child_process')
  const { isatty } = await builtin('node:tty')
  const child = spawn(pinned, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], {
    stdio: 'inherit',
  })
  // The terminal sends Ctrl-C to both processes; a second one would be taken for a person who does not want to wait.
  const hasTerminal = [0, 1, 2].some((stream) => isatty(stream))
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
    process.on(signal, () => (signal === 'SIGINT' && hasTerminal) || child.kill(signal))
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? 1
    if (signal) process.kill(process.pid, signal)
  })
}

function fail(message) {
  process.stderr.write(message + '\n')
  process.exit(1)
}
