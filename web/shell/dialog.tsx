import type { ReactNode } from 'react'
import { useEffect, useRef } from 'react'
import { IconButton } from '../design/controls.tsx'

/** A modal dialog. Esc and a click beside it close it; the focus returns to where it was. */
export function Dialog(props: { title: string; onClose: () => void; children: ReactNode; wide?: boolean }) {
  const ref = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const before = document.activeElement
    const dialog = ref.current
    if (dialog !== null && !dialog.open) dialog.showModal()
    const first = dialog?.querySelector('[data-first-focus]')
    if (first instanceof HTMLElement) first.focus()
    return () => {
      dialog?.close()
      if (before instanceof HTMLElement) before.focus()
    }
  }, [])
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Esc closes a dialog without our help.
    <dialog
      ref={ref}
      className={props.wide ? 'dialog dialog-wide' : 'dialog'}
      aria-label={props.title}
      onCancel={(event) => {
        event.preventDefault()
        props.onClose()
      }}
      onClick={(event) => {
        if (event.target === ref.current) props.onClose()
      }}
    >
      <div className="dialog-body">
        <header className="dialog-header">
          <h2>{props.title}</h2>
          <span className="grow" />
          <IconButton icon="close" label="Close" onClick={props.onClose} />
        </header>
        {props.children}
      </div>
    </dialog>
  )
}
