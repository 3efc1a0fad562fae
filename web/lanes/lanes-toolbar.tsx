import type { ReactNode } from 'react'
import { Button, Segments } from '../design/controls.tsx'
import { TOOL_CATEGORIES, ToolMark, toolCategoryLabel } from '../design/tool-mark.tsx'
import type { Level } from './lane-levels.ts'
import { LEVEL_NAMES } from './lane-levels.ts'
import type { Chrome, LanesController } from './lanes-controller.ts'

/* Levels, follow, gaps and the legend. */

const LEVELS: readonly Level[] = [1, 2, 3, 4]

export function LanesToolbar({
  controller,
  chrome,
  extra,
}: {
  controller: LanesController
  chrome: Chrome
  extra?: ReactNode
}) {
  const { model } = controller
  return (
    <div className="lanes-toolbar">
      <Segments
        label="Level of detail"
        options={LEVELS.map((level) => ({ value: String(level), label: LEVEL_NAMES[level], title: `Key ${level}` }))}
        value={String(chrome.level)}
        onChange={(value) => model.showLevel(Number(value) as Level)}
      />
      {extra}
      {chrome.live ? (
        <Button aria-pressed={chrome.follows} title="Follow now (f)" onClick={() => model.toggleFollow()}>
          Follow now
        </Button>
      ) : null}
      <Button title="Show the whole run (0)" onClick={() => model.fit()}>
        Fit run
      </Button>
      <Button aria-pressed={chrome.collapsesGaps} title="Collapse idle gaps (i)" onClick={() => model.toggleGaps()}>
        Gaps collapsed
      </Button>
      <div className="lanes-legend" aria-hidden="true">
        {TOOL_CATEGORIES.map((category) => (
          <span key={category}>
            <ToolMark category={category} />
            {toolCategoryLabel(category)}
          </span>
        ))}
      </div>
    </div>
  )
}
