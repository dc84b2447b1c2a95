// A repository with a history of which every line's writer is known: sessions, forks, people, bots, formatters, squashes, rebases,
// cherry-picks, reverts and renames, in a random order that a seed decides. Git and the files are real.
import { copyFileSync, rmSync } from 'node:fs'
import { EditedRepository, EditingSession } from '../../test/support/edited-repository.ts'
import { codeLine, formatted, Random, tweaked } from './simulated-code.ts'

/** The id of a session, or the name of a person without a transcript. */
export type Writer = string

export interface Line {
  text: string
  by: Writer
}

export interface SimulatedCommit {
  sha: string
  /** The lines that it added. None if it only changes the form of lines. */
  lines: Line[]
  /** The session that ran `git commit`. */
  madeBy?: Writer
}

export const person = 'person'
export const bot = 'bot'

const tasks = 60
const fileNames = Array.from({ length: 14 }, (_, i) => `src/part${i}.ts`)

export class SimulatedHistory {
  readonly world = new EditedRepository('shop')
  files = new Map<string, Line[]>()
  readonly commits: SimulatedCommit[] = []
  /** Sessions whose transcripts were deleted: nothing can be known about them. */
  readonly lost = new Set<Writer>()
  readonly #random: Random
  readonly #sessions: EditingSession[] = []
  readonly #parents = new Set<EditingSession>()
  #committed = new Set<Line>()

  constructor(seed: number) {
    this.#random = new Random(seed)
    for (const file of fileNames.slice(0, 8)) this.#personWrites(file, 20)
    this.#commit(person)
    for (let task = 0; task < tasks; task++) this.#task()
    this.#lose()
  }

  #task(): void {
    const kind = this.#random.next()
    if (kind < 0.52) this.#sessionTask()
    else if (kind < 0.68) this.#personTask()
    else if (kind < 0.72) this.#formatterTask()
    else if (kind < 0.77) this.#botTask()
    else if (kind < 0.91) this.#branchTask()
    else if (kind < 0.94) this.#revertTask()
    else if (kind < 0.97) this.#renameTask()
    else this.#moveTask()
    this.world.seconds += this.#random.between(60, 20_000)
  }

  /** One session, sometimes two at once, edits some files; the session or a person commits. */
  #sessionTask(files = this.#someFiles()): void {
    const random = this.#random
    const sessions = [this.#session(), ...(random.chance(0.15) ? [this.#session()] : [])]
    for (const file of files)
      for (let edits = random.between(1, 4); edits > 0; edits--)
        this.#sessionEdits(random.pick(sessions), file)
    if (random.chance(0.2)) this.#review(random.pick(files))
    this.#commit(random.chance(0.4) ? sessions[0]! : person)
  }

  #session(): EditingSession {
    const random = this.#random
    if (this.#sessions.length > 0 && random.chance(0.25))
      return this.#sessions.at(-random.between(1, 3)) ?? this.#sessions[0]!
    if (this.#sessions.length > 0 && random.chance(0.08)) return this.#fork(random.pick(this.#sessions))
    const session = this.world.session(codeLine(random))
    this.#sessions.push(session)
    return session
  }

  #fork(parent: EditingSession): EditingSession {
    this.#parents.add(parent)
    const id = `${this.#sessions.length.toString(16).padStart(8, 'f')}-0000-4000-8000-00000000000a`
    const fork = new EditingSession(this.world, id)
    copyFileSync(parent.path, fork.path)
    fork.prompt('Continue in another way')
    this.#sessions.push(fork)
    return fork
  }

  #sessionEdits(session: EditingSession, file: string): void {
    const random = this.#random
    const [before, after] = this.#changed(file, session.sessionId)
    const kind = random.next()
    if (kind < 0.07) {
      // Refused: nothing changes, and a person may write something similar later.
      session.call(
        'Edit',
        { file_path: file, old_string: '', new_string: textOf(after) },
        'The user refused.',
      )
      return
    }
    if (before.length === 0 || kind < 0.15) session.create(file, textOf(after))
    else if (kind < 0.18) {
      // A session cannot repeat a file that it has not seen.
      session.run(`cat ${file}`)
      session.run(`cat > ${file} <<'END'\n${textOf(after)}END`)
    } else session.edit(file, textOf(before), textOf(after))
    if (before.length > 0 && kind > 0.9) session.edit(file, textOf(after), textOf(before))
    else this.files.set(file, after)
    if (random.chance(0.04)) this.#format(file, session)
  }

  /** Some lines are replaced or added. */
  #changed(file: string, by: Writer, most = 9): [before: Line[], after: Line[]] {
    const random = this.#random
    const before = this.files.get(file) ?? []
    const at = random.between(0, before.length)
    const removed = random.between(0, 3)
    const added = Array.from({ length: random.between(1, most) }, () => ({ text: codeLine(random), by }))
    return [before, [...before.slice(0, at), ...added, ...before.slice(at + removed)]]
  }

  #personWrites(file: string, most: number): void {
    this.#write(file, this.#changed(file, person, most)[1])
  }

  #personTask(files = this.#someFiles()): void {
    for (const file of files) this.#personWrites(file, 6)
    this.#commit(person)
  }

  /** Before the commit a person changes lines that a session wrote, or adds one between them. */
  #review(file: string): void {
    const random = this.#random
    const lines = [...(this.files.get(file) ?? [])]
    for (let changes = random.between(1, 3); changes > 0; changes--) {
      const at = random.between(0, lines.length - 1)
      const isNew = random.chance(0.4)
      const text = isNew ? codeLine(random) : tweaked(lines[at]!.text, random)
      lines.splice(at, isNew ? 0 : 1, { text, by: person })
    }
    this.#write(file, lines)
  }

  #formatterTask(): void {
    for (const file of this.#someFiles()) this.#format(file)
    this.#noteCommitted()
    this.#commit(person)
  }

  #format(file: string, session?: EditingSession): void {
    const lines = this.files.get(file) ?? []
    const after = lines.flatMap((line) => {
      const texts = formatted(line.text)
      return texts.length === 1 && texts[0] === line.text
        ? [line]
        : texts.map((text) => ({ text, by: line.by }))
    })
    this.#write(file, after)
    session?.run(`echo formatted ${file} && cat ${file}`)
  }

  #botTask(): void {
    const lines = [{ text: `left-pad = 1.${this.#random.between(1, 99)}.0`, by: bot }]
    this.#write('packages.txt', lines)
    this.#commit(bot)
  }

  /** Work on a branch, which comes to the main branch in one of the ways of git. */
  #branchTask(): void {
    const random = this.#random
    const { world } = this
    const files = this.#someFiles()
    const start = world.git('rev-parse', 'HEAD')
    const [before, known] = [new Map(this.files), this.#committed]
    const made = this.commits.length
    world.git('checkout', '-q', '-b', 'side')
    for (let works = random.between(1, 3); works > 0; works--)
      if (random.chance(0.8)) this.#sessionTask(files)
      else this.#personTask(files)
    const after = new Map(files.map((file) => [file, this.files.get(file)]))
    const onSide = this.commits.splice(made)
    world.git('checkout', '-q', 'main')
    ;[this.files, this.#committed] = [before, known]
    const others = fileNames.filter((file) => !files.includes(file))
    if (random.chance(0.5)) this.#personTask([random.pick(others)])
    const how = random.pick(['squash', 'rebase', 'cherry-pick'])
    if (how === 'squash') world.git('merge', '-q', '--squash', 'side')
    else if (how === 'rebase') this.#rebase(onSide)
    else this.#take(onSide, () => world.git('cherry-pick', '--allow-empty', `${start}..side`))
    for (const [file, lines] of after) if (lines) this.files.set(file, lines)
    if (how === 'squash') this.#commit(person)
    else this.#noteCommitted()
    world.git('branch', '-q', '-D', 'side')
  }

  #rebase(onSide: SimulatedCommit[]): void {
    this.#take(onSide, () => {
      this.world.git('rebase', '-q', 'main', 'side')
      this.world.git('checkout', '-q', 'main')
      this.world.git('merge', '-q', '--ff-only', 'side')
    })
  }

  /** The same commits have other hashes now. */
  #take(onSide: SimulatedCommit[], act: () => void): void {
    act()
    const hashes = this.world.git('log', '--format=%H', `-${onSide.length}`).split('\n').toReversed()
    this.commits.push(...onSide.map((commit, i) => ({ ...commit, sha: hashes[i]! })))
  }

  /** The last commit is taken back, and brought back. */
  #revertTask(): void {
    if (this.world.git('diff', '--name-only', 'HEAD~1', 'HEAD') === '') return
    this.world.git('revert', '--no-edit', 'HEAD')
    this.world.git('revert', '--no-edit', 'HEAD')
  }

  #renameTask(): void {
    const from = this.#random.pick([...this.files.keys()].filter((file) => file.startsWith('src/')))
    const to = `src/moved${this.#random.between(1, 1_000)}.ts`
    if (this.files.has(to)) return
    this.world.git('mv', from, to)
    this.files.set(to, this.files.get(from)!)
    this.files.delete(from)
    this.#commit(person)
  }

  /** A person moves some lines to another place of the file. */
  #moveTask(): void {
    const file = this.#someFiles()[0]!
    const lines = this.files.get(file) ?? []
    const half = Math.floor(lines.length / 2)
    this.#write(file, [...lines.slice(half), ...lines.slice(0, half)])
    this.#commit(person)
  }

  /** Some transcripts are gone at the end. A fork has the edits of its parent, so parents stay. */
  #lose(): void {
    for (const session of this.#sessions) {
      if (this.#parents.has(session) || !this.#random.chance(0.05)) continue
      this.lost.add(session.sessionId)
      rmSync(session.path)
    }
  }

  #someFiles(): string[] {
    const known = [...this.files.keys()].filter((file) => file.startsWith('src/'))
    const some = Array.from({ length: this.#random.between(1, 3) }, () =>
      this.#random.pick(this.#random.chance(0.85) ? known : fileNames),
    )
    return [...new Set(some)]
  }

  #write(file: string, lines: Line[]): void {
    this.world.write(file, textOf(lines))
    this.files.set(file, lines)
  }

  #commit(by: EditingSession | string): void {
    const fresh = this.#freshLines()
    if (by instanceof EditingSession) by.run("git add -A && git commit --allow-empty -m 'Work of a session'")
    else if (by === bot) this.world.commit('Bump', '--author', 'renovate[bot] <bot@example.org>')
    else this.world.commit('Work')
    const madeBy = by instanceof EditingSession ? by.sessionId : undefined
    this.commits.push({ sha: this.world.git('rev-parse', 'HEAD'), lines: fresh, madeBy })
    this.#noteCommitted()
  }

  #freshLines(): Line[] {
    return [...this.files.values()].flat().filter((line) => !this.#committed.has(line))
  }

  #noteCommitted(): void {
    this.#committed = new Set([...this.files.values()].flat())
  }
}

function textOf(lines: readonly Line[]): string {
  return `${lines.map(({ text }) => text).join('\n')}\n`
}
