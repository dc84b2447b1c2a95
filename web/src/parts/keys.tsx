// The keyboard shortcuts. Opens with the question mark.
import { modKey } from '../keyboard.ts'
import { useModal } from '../modal.ts'
import { places } from './views-pane.tsx'

const keys: Array<[keys: string, does: string]> = [
  ['j k or ↓ ↑', 'Move through the list; the session at the right follows'],
  ['Enter', 'Open the row; send the message; give the answer'],
  ['Space', 'Select the row, to allow or archive several at once'],
  ['a d', 'Allow or deny what the session asks'],
  ['1 … 9', 'Choose an answer of a question; Enter sends it'],
  ['r', 'Write a reply, or a note to the decision'],
  ['e', 'Mark the result as seen'],
  ['x', 'End the session (asks first)'],
  [`${modKey}K or /`, 'Find sessions, messages and projects; run a command'],
  ['n', 'New task'],
  [`g then ${places.map(({ key }) => key).join(' ')}`, places.map(({ label }) => label).join(', ')],
  [`${modKey}Enter`, 'New task: launch'],
  ['Shift+Enter', 'New line'],
  ['Esc', 'Close the dialog; leave the field; go from a sub-agent back to its session'],
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
