// The plugin in Claude Code: whether terminal sessions are connected, what installing would change, and the buttons for it.
import { useState } from 'preact/hooks'
import { visible } from '../format.ts'
import { useAction, useLive } from '../live.ts'
import { Loaded, Problem, Words } from './states.tsx'

type Change = 'install' | 'remove'

export function ClaudePlugin() {
  const plugin = useLive('claude-plugin.status', {}, (event) => event.type === 'config-changed')
  const [asked, setAsked] = useState<Change>()
  const { run, busy, error } = useAction()
  const change = (verb: Change): void => {
    void run(`claude-plugin.${verb}`, {}).then(() => {
      setAsked(undefined)
      plugin.reload()
    })
  }
  return (
    <section class="panel" aria-label="Terminal sessions">
      <h2>Terminal sessions</h2>
      <p class="faint">
        With the plugin in Claude Code, sessions in your terminals ask here for permissions and get messages.
      </p>
      {error && <Problem text={error} />}
      <Loaded live={plugin}>
        {(data) => (
          <>
            <ul class="names">
              {data.homes.map(({ configDir, state }) => (
                <li key={configDir}>
                  {visible(configDir)} <span class="chip">{state}</span>
                </li>
              ))}
              {data.missing.map((line) => (
                <li key={line} class="faint">
                  <Words text={line} />
                </li>
              ))}
            </ul>
            {asked && (
              <ul class="names" aria-label="What will change">
                {data[asked].map((line) => (
                  <li key={line}>
                    <Words text={line} />
                  </li>
                ))}
              </ul>
            )}
            <div class="buttons">
              {asked ? (
                <>
                  <button type="button" class="primary" disabled={busy} onClick={() => change(asked)}>
                    {asked === 'install' ? 'Install now' : 'Remove now'}
                  </button>
                  <button type="button" class="quiet" onClick={() => setAsked(undefined)}>
                    Cancel
                  </button>
                </>
              ) : (
                (['install', 'remove'] as const)
                  .filter((verb) => data[verb].length > 0)
                  .map((verb) => (
                    <button key={verb} type="button" onClick={() => setAsked(verb)}>
                      {verb === 'install' ? 'Install the plugin…' : 'Remove the plugin…'}
                    </button>
                  ))
              )}
            </div>
          </>
        )}
      </Loaded>
    </section>
  )
}
