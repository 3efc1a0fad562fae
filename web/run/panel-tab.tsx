import type { ReactNode } from 'react'
import type { Panel } from '../../src/views/panel.ts'
import { Block } from '../blocks/block.tsx'
import { keyed } from '../blocks/keyed.ts'
import { inertText } from '../design/inert-text.ts'
import { EmptyState } from '../design/notice.tsx'

/** Blocks that need the whole width; the others share a row. */
const WIDE = new Set(['table', 'graph', 'matrix', 'diff', 'messages', 'steps'])

/** A page that the pattern of the run brings, as blocks. */
export function PanelTab({ panel }: { panel: Panel }): ReactNode {
  if (panel.blocks.length === 0)
    return <EmptyState title={inertText(panel.title)}>Nothing yet. It appears here as the run goes on.</EmptyState>
  const widths = wideBlocks(panel.blocks)
  return (
    <div className="tab-page panel-tab">
      {keyed(panel.blocks, (block) => `${block.kind} ${block.title ?? ''}`).map(({ key, item }, index) => (
        <div key={key} className={`card panel-card${widths[index] ? ' wide' : ''}`}>
          <Block block={item} />
        </div>
      ))}
    </div>
  )
}

/** Which blocks take the whole width: wide ones, and a narrow one without another beside it. */
export function wideBlocks(blocks: Panel['blocks']): boolean[] {
  const wide = blocks.map(({ kind }) => WIDE.has(kind))
  for (let index = 0; index < wide.length; index += 1) {
    if (wide[index]) continue
    if (index + 1 < wide.length && !wide[index + 1]) index += 1
    else wide[index] = true
  }
  return wide
}
