// `rockpool completion bash|zsh|fish`: a completion script with every command and option of the catalog.
import { z } from 'zod'
import type { CatalogEntry } from '../operations/catalog.ts'
import type { LocalCommand } from './host.ts'

export const commands: LocalCommand[] = [
  {
    name: 'completion',
    description: 'Print the completion script for a shell.',
    input: z.strictObject({ shell: z.enum(['bash', 'zsh', 'fish']).describe('The shell.') }),
    command: {
      positional: ['shell'],
      examples: [
        'rockpool completion bash > ~/.local/share/bash-completion/completions/rockpool',
        'rockpool completion zsh > "${fpath[1]}/_rockpool"',
        'rockpool completion fish > ~/.config/fish/completions/rockpool.fish',
      ],
    },
    async run(host, input, json) {
      const script = scripts[input['shell'] as keyof typeof scripts](await host.catalog())
      if (json) return { shell: input['shell'], script }
      host.terminal.out(script)
      return undefined
    },
  },
]

const scripts = { bash: bashScript, zsh: zshScript, fish: fishScript }

function bashScript(catalog: CatalogEntry[]): string {
  return `# bash completion for rockpool
_rockpool() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" path="" word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do [[ $word == -* ]] || path="\${path:+$path }$word"; done
  local words
  case "$path" in
${cases(catalog, (words) => `words="${words.join(' ')}"`)}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -F _rockpool rockpool
`
}

function zshScript(catalog: CatalogEntry[]): string {
  return `#compdef rockpool
_rockpool() {
  local path="" word
  for word in "\${words[@]:1:$((CURRENT-2))}"; do [[ $word == -* ]] || path="\${path:+$path }$word"; done
  case "$path" in
${cases(catalog, (words) => `compadd -- ${words.join(' ')}`)}
  esac
}
compdef _rockpool rockpool
`
}

function fishScript(catalog: CatalogEntry[]): string {
  const lines = catalog.flatMap((entry) => {
    const words = entry.command.split(' ')
    const before = words.slice(0, -1)
    const name = `complete -c rockpool -f -n ${quoted(fishAt(before))} -a ${words.at(-1)} -d ${quoted(entry.description)}`
    const options = entry.options.map(
      (option) =>
        `complete -c rockpool -n ${quoted(fishAt(words))} -l ${option.flag.slice(2)} -d ${quoted(option.description)}` +
        (option.takesValue ? ' -r' : '') +
        (option.choices ? ` -f -a ${quoted(option.choices.join(' '))}` : ''),
    )
    return [name, ...options]
  })
  return `# fish completion for rockpool\n${lines.join('\n')}\ncomplete -c rockpool -l json -d 'Print one JSON document.'\n`
}

function fishAt(words: string[]): string {
  return words.length === 0
    ? '__fish_use_subcommand'
    : words.map((w) => `__fish_seen_subcommand_from ${w}`).join('; and ')
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}

/** For every sequence of words: the possible next words. Longer sequences first, because a shell takes the first match. */
function cases(catalog: CatalogEntry[], line: (words: string[]) => string): string {
  const next = new Map<string, Set<string>>([['', new Set(['--help', '--version'])]])
  const add = (path: string, word: string): void => {
    if (!next.has(path)) next.set(path, new Set(['--json', '--help']))
    next.get(path)!.add(word)
  }
  for (const entry of catalog) {
    const words = entry.command.split(' ')
    words.forEach((word, i) => add(words.slice(0, i).join(' '), word))
    for (const option of entry.options) add(entry.command, option.flag)
    for (const choice of entry.argumentChoices ?? []) add(entry.command, choice)
  }
  return [...next]
    .sort(([a], [b]) => b.length - a.length)
    .map(([path, words]) => `    ${path === '' ? '""' : `"${path}"*`}) ${line([...words].sort())} ;;`)
    .join('\n')
}
