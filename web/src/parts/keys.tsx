// The keyboard shortcuts. Opens with the question mark.
import { useModal } from '../modal.ts'

const keys: Array<[keys: string, does: string]> = [
  ['Ctrl K or /', 'Find sessions, messages and projects; open a view; run a command'],
  ['Alt 1 … Alt 5', 'Home, New task, Chat, Cost, Settings'],
  ['↑ ↓', 'Home: move through the rows'],
  ['Space', 'Home: open the preview of the row (it follows the arrow keys); Tab moves to its question'],
  ['Enter', 'Open the row; send the message; give the answer'],
  ['1 … 9', 'Choose an answer of a question'],
  ['Ctrl Enter', 'New task: launch'],
  ['Shift Enter', 'Chat: new line'],
  ['Esc', 'Close the dialog; go from a sub-agent back to its session'],
  ['?', 'These keys'],
]

export function Keys({ onClose }: { onClose: () => void }) {
  const { box, close, handlers } = useModal(onClose)
  return (
    <dialog class="keys" ref={box} aria-label="Keys" {...handlers}>
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
