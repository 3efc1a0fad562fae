import type { TimelineRef } from '../../src/views/timeline/timeline.ts'
import type { TreeRow } from './tree-rows.ts'

/* The keys of a treegrid, as the ARIA pattern has them. */

export interface TreeMove {
  active?: string
  expanded?: ReadonlySet<string>
  open?: TimelineRef
}

export interface TreeView {
  rows: readonly TreeRow[]
  expanded: ReadonlySet<string>
  active: string | null
}

const PAGE = 10

/** The effect of a key; `null` if the treegrid has no use for it. */
export function moveInTree(key: string, view: TreeView): TreeMove | null {
  const { rows, active, expanded } = view
  const index = Math.max(
    0,
    rows.findIndex(({ id }) => id === active),
  )
  const row = rows[index]
  if (!row) return null
  const to = (target: number): TreeMove => {
    const next = rows[Math.min(Math.max(target, 0), rows.length - 1)]
    return next ? { active: next.id } : {}
  }
  switch (key) {
    case 'ArrowDown':
      return to(index + 1)
    case 'ArrowUp':
      return to(index - 1)
    case 'PageDown':
      return to(index + PAGE)
    case 'PageUp':
      return to(index - PAGE)
    case 'Home':
      return to(0)
    case 'End':
      return to(rows.length - 1)
    case 'ArrowRight':
      if (!row.expandable) return {}
      return expanded.has(row.id) ? to(index + 1) : { expanded: new Set([...expanded, row.id]), active: row.id }
    case 'ArrowLeft':
    case 'Backspace':
      return closeOrLeave(row, expanded)
    case 'Enter':
    case ' ':
      return { active: row.id, open: row.ref }
    default:
      return null
  }
}

function closeOrLeave(row: TreeRow, expanded: ReadonlySet<string>): TreeMove {
  if (row.expandable && expanded.has(row.id))
    return { expanded: new Set([...expanded].filter((id) => id !== row.id)), active: row.id }
  return row.parent === null ? {} : { active: row.parent }
}
