import type { ReactNode } from 'react'
import { useEffect, useState } from 'react'
import { StateIcon } from './state.tsx'

/* Empty, loading and error states: what happened, and what to do. */

export function EmptyState({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="empty-state">
      <h2>{title}</h2>
      {children === undefined ? null : <p>{children}</p>}
    </div>
  )
}

export function ErrorState({ title, children, action }: { title: string; children?: ReactNode; action?: ReactNode }) {
  return (
    <div className="empty-state error-state" role="alert">
      <h2>
        <StateIcon state="failed" /> {title}
      </h2>
      {children === undefined ? null : <p>{children}</p>}
      {action}
    </div>
  )
}

/** Nothing for 300 ms, then grey rows of the final height. */
export function LoadingRows({ rows = 8, height = 34 }: { rows?: number; height?: number }) {
  const [late, setLate] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), 300)
    return () => clearTimeout(timer)
  }, [])
  return (
    <div className="loading-rows" aria-busy="true">
      <span className="visually-hidden">Loading</span>
      {late
        ? Array.from({ length: rows }, (_, row) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the rows are all alike.
            <div key={row} className="loading-row" style={{ height }}>
              <i style={{ width: `${30 + ((row * 37) % 45)}%` }} />
            </div>
          ))
        : null}
    </div>
  )
}
