// Logging in: by the one-time link that the terminal shows, or by its code.
import { useEffect, useState } from 'preact/hooks'
import { isReachable, logIn } from './gateway.ts'
import { Problem } from './parts/states.tsx'

/** The code of a one-time link stands behind `#`, where no server and no log sees it. */
export function codeInAddress(): string | undefined {
  return /^#code=([\w-]{8,200})$/.exec(location.hash)?.[1]
}

export function Login({ onIn }: { onIn: () => void }) {
  const [problem, setProblem] = useState<string>()
  const [code, setCode] = useState('')
  const tryCode = async (given: string): Promise<void> => {
    const outcome = await logIn(given)
    if (outcome === 'in') return onIn()
    setProblem(
      outcome === 'refused'
        ? 'That code is used up or wrong. Ask for a new one.'
        : 'The gateway does not answer.',
    )
  }
  useEffect(() => {
    const given = codeInAddress()
    history.replaceState(null, '', location.pathname)
    if (given) void tryCode(given)
    else void isReachable().then((reachable) => reachable || setProblem('The gateway does not answer.'))
  }, [])
  return (
    <main class="login">
      <img src="/icon.svg" alt="" width="56" height="56" />
      <h1>Rockpool</h1>
      <p>
        In a terminal on this machine, run <code>rockpool dashboard</code> and open the link that it shows, or
        type the code here.
      </p>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void tryCode(code.trim())
        }}
      >
        <label for="code">One-time code</label>
        <input
          id="code"
          value={code}
          autocomplete="off"
          autofocus
          onInput={(event) => setCode(event.currentTarget.value)}
        />
        <button type="submit" class="primary" disabled={code.trim() === ''}>
          Log in
        </button>
      </form>
      {problem && <Problem text={problem} />}
    </main>
  )
}
