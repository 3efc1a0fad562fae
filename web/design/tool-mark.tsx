import type { ReactNode } from 'react'
import { formatIdentifier } from './format.ts'

/* A tool category is a shape, never a colour; colour is left to the state. */

export type ToolCategory = 'perception' | 'action' | 'interaction' | 'planning' | 'task_management'

export const TOOL_CATEGORIES: readonly ToolCategory[] = [
  'perception',
  'action',
  'interaction',
  'planning',
  'task_management',
]

/** The mark of a call. An unknown category is a dot. */
export function ToolMark({ category, status = 'ok' }: { category: string | null; status?: string }) {
  const shape = SHAPES[category as ToolCategory] ?? <circle cx="5" cy="5" r="1.8" fill="currentColor" />
  return (
    <svg className={`tool-mark mark-${status}`} viewBox="0 0 10 10" width="10" height="10" aria-hidden="true">
      {shape}
      {status === 'failed' ? (
        <path className="cut" d="m3.2 3.2 3.6 3.6m0-3.6L3.2 6.8" fill="none" strokeWidth="1.3" />
      ) : null}
    </svg>
  )
}

export function toolCategoryLabel(category: string | null): string {
  return category === null ? 'other' : formatIdentifier(category)
}

const SHAPES: Record<ToolCategory, ReactNode> = {
  perception: <circle cx="5" cy="5" r="2.9" fill="none" stroke="currentColor" strokeWidth="1.8" />,
  action: <rect x="1.5" y="1.5" width="7" height="7" rx="0.8" fill="currentColor" />,
  interaction: (
    <path
      d="M1.6 1.6h6.8a.7.7 0 0 1 .7.7v3.9a.7.7 0 0 1-.7.7H5.6L3.2 9.2V6.9H1.6a.7.7 0 0 1-.7-.7V2.3a.7.7 0 0 1 .7-.7Z"
      fill="currentColor"
    />
  ),
  planning: <path d="M1 2.2h8M1 5h8M1 7.8h5" stroke="currentColor" strokeWidth="1.4" fill="none" />,
  task_management: <path d="M2 1.2 9 5 2 8.8Z" fill="currentColor" />,
}
