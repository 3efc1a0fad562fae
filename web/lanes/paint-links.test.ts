import { expect, test } from 'vitest'
import type { TimelineLink } from '../../src/views/timeline/timeline.ts'
import type { Frame } from './lane-frame.ts'
import { linksInView, MOST_LINKS } from './paint-links.ts'
import type { Focus } from './selection-focus.ts'

const link = (id: string): TimelineLink => ({
  ...{ id, kind: 'delegation', from: 'a', to: 'b', from_session: null, to_session: null, call: null, group: null },
  ...{ label: '', seq: 1, ended_seq: 2, started_at: 10, ended_at: 20 },
})
const focusOn = (...ids: string[]) => ({ links: new Set(ids) }) as unknown as Focus

function shown(count: number, focus: Focus, hover: Focus): string[] {
  const links = Array.from({ length: count }, (_, index) => link(`l${index}`))
  const frame = {
    ...{ level: 3, width: 100, visible: [{ id: 'a' }], store: { rows: () => links } },
    scale: { time: (x: number) => x, x: (time: number) => time, gaps: [], view: { from: 0, k: 1 } },
  }
  return linksInView(frame as unknown as Frame, focus, hover).map(({ id }) => id)
}

test('WL12 with more than 40 links in view, only those of the selection and the pointer are drawn', () => {
  expect(shown(MOST_LINKS, focusOn(), focusOn())).toHaveLength(40)
  expect(shown(MOST_LINKS + 1, focusOn(), focusOn())).toEqual([])
  expect(shown(MOST_LINKS + 1, focusOn('l3'), focusOn('l40'))).toEqual(['l3', 'l40'])
})
