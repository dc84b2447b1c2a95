// Everything that the keyboard does. Opens on the question mark.
import { useModal } from '../modal.ts'

const keys: Array<[keys: string, does: string]> = [
  ['Ctrl K or /', 'Find sessions, words that were said, projects; go somewhere, do something'],
  ['Alt 1 … Alt 5', 'Home, New task, Chat, Cost, Settings'],
  ['↑ ↓', 'Home: through the rows'],
  ['Space', 'Home: look into the row (the arrows take the look along); Tab then reaches what it asks'],
  ['Enter', 'Open the row; send the message; give the answer'],
  ['1 … 9', 'Choose what a question offers'],
  ['Ctrl Enter', 'New task: launch'],
  ['Shift Enter', 'Chat: break the line'],
  ['Esc', 'Close what lies above the page; go from a sub-agent back to its session'],
  ['?', 'These keys'],
]

export function Keys({ onClose }: { onClose: () => void }) {
  const { box, close, hands } = useModal(onClose)
  return (
    <dialog class="keys" ref={box} aria-label="Keys" {...hands}>
      <h2>Keys</h2>
      <dl>
        {keys.map(([name, does]) => (
          <>
            <dt key={name}>
              <kbd>{name}</kbd>
            </dt>
            <dd>{does}</dd>
          </>
        ))}
      </dl>
      <button type="button" onClick={close}>
        Close
      </button>
    </dialog>
  )
}
