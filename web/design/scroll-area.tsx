import type { ReactNode } from 'react'

/** Content that may be wider than its place: it scrolls sideways, also with the keyboard. */
export function ScrollArea({ label, children }: { label: string; children: ReactNode }): ReactNode {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling area is reachable by keyboard
    <section className="scroll-x" tabIndex={0} aria-label={label}>
      {children}
    </section>
  )
}
