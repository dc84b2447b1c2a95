// A check box with its label.
interface SwitchProps {
  label: string
  checked: boolean
  set: (checked: boolean) => void
}

export function Switch({ label, checked, set }: SwitchProps) {
  return (
    <label class="switch">
      <input type="checkbox" checked={checked} onChange={(event) => set(event.currentTarget.checked)} />
      {label}
    </label>
  )
}
