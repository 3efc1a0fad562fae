import type { TimelineLink } from '../../src/views/timeline/timeline.ts'
import type { Frame } from './lane-frame.ts'
import { laneMiddle, rowTop } from './lane-frame.ts'
import type { LaneRow } from './lane-rows.ts'
import { clearVertical, isClear, shareVerticals } from './link-routing.ts'

/* Links between lanes as orthogonal paths. */

export type Point = [x: number, y: number]

export interface LinkPath {
  link: TimelineLink
  kind: TimelineLink['kind'] | 'completion'
  points: Point[]
  /** Direction of the head at the last point. */
  head: 'right' | 'up' | 'down'
}

export interface GroupPill {
  x: number
  y: number
  count: number
  links: readonly TimelineLink[]
}

export interface LinkLayout {
  paths: LinkPath[]
  pills: GroupPill[]
}

/** Distance of a trunk from the first child. */
const TRUNK = 9

export function linkLayout(frame: Frame, links: readonly TimelineLink[]): LinkLayout {
  const layout: LinkLayout = { paths: [], pills: [] }
  const groups = Map.groupBy(links, (link) =>
    link.kind === 'delegation' && link.group !== null ? `${link.from_session} ${link.group}` : link.id,
  )
  for (const members of groups.values()) {
    const [first] = members
    if (first?.kind === 'delegation') addDelegation(frame, members, layout)
    else if (first) addLink(frame, first, layout)
  }
  shareVerticals(layout.paths)
  return layout
}

function ends(frame: Frame, link: TimelineLink): { from: LaneRow; to: LaneRow } | null {
  const from = frame.rows.byLane.get(link.from ?? '')
  const to = frame.rows.byLane.get(link.to ?? '')
  return from && to && from !== to ? { from, to } : null
}

function sessionStart(frame: Frame, link: TimelineLink): number {
  const session = frame.store.get('sessions', link.to_session ?? '')
  return frame.scale.x(session?.started_at ?? link.started_at) - 3
}

/** One trunk in front of the children, and a straight line up from the end of each. */
function addDelegation(frame: Frame, members: readonly TimelineLink[], layout: LinkLayout): void {
  const children = members.flatMap((link) => {
    const rows = ends(frame, link)
    return rows ? [{ link, ...rows, x: sessionStart(frame, link) }] : []
  })
  const [first] = children
  if (!first) return
  const start = frame.scale.x(Math.min(...members.map(({ started_at }) => started_at)))
  const nearest = Math.min(...children.map(({ x }) => x))
  const wanted = Math.max(Math.min(start, nearest - 4), nearest - TRUNK)
  const crossed = children.map(({ to }) => to)
  const trunk = clearVertical(frame, { x: wanted, rows: crossed, low: Math.min(start, wanted), high: nearest - 4 })
  const y = laneMiddle(frame, first.from)
  for (const { link, to, x } of children) {
    const middle = laneMiddle(frame, to)
    const points: Point[] = [
      [Math.min(start, trunk), y],
      [trunk, y],
      [trunk, middle],
      [x, middle],
    ]
    layout.paths.push({ link, kind: 'delegation', points, head: 'right' })
    addCompletion(frame, { link, from: to, to: first.from }, layout)
  }
  if (children.length > 1) {
    const top = Math.min(...children.map(({ to }) => rowTop(frame, to)))
    layout.pills.push({ x: trunk, y: top, count: children.length, links: members })
  }
}

function addCompletion(
  frame: Frame,
  { link, from, to }: { link: TimelineLink; from: LaneRow; to: LaneRow },
  layout: LinkLayout,
): void {
  const session = frame.store.get('sessions', link.to_session ?? '')
  const end = session?.ended_at ?? link.ended_at
  if (end === null || link.ended_at === null) return
  const x = frame.scale.x(end) + 3
  const up = to.y < from.y
  const start = rowTop(frame, from) + (up ? from.metrics.boxY + 14 : from.metrics.boxY + from.metrics.boxHeight)
  const target = laneMiddle(frame, to) + (up ? 3 : -3)
  layout.paths.push({
    link,
    kind: 'completion',
    points: [
      [x, start],
      [x, target],
    ],
    head: up ? 'up' : 'down',
  })
}

function addLink(frame: Frame, link: TimelineLink, layout: LinkLayout): void {
  const rows = ends(frame, link)
  if (!rows) return
  if (link.kind === 'message') addMessage(frame, { link, ...rows }, layout)
  else if (link.kind === 'consultation') addConsultation(frame, { link, ...rows }, layout)
  else addForward(frame, { link, ...rows }, layout)
}

type LinkRows = { link: TimelineLink; from: LaneRow; to: LaneRow }

function barEdge(frame: Frame, row: LaneRow, side: 'top' | 'bottom'): number {
  const y = rowTop(frame, row) + row.metrics.barY
  return side === 'top' ? y : y + row.metrics.barHeight
}

function between(frame: Frame, from: LaneRow, to: LaneRow): readonly LaneRow[] {
  const low = Math.min(from.y, to.y)
  const high = Math.max(from.y, to.y)
  return frame.rows.rows.filter(({ y }) => y > low && y < high)
}

function addMessage(frame: Frame, { link, from, to }: LinkRows, layout: LinkLayout): void {
  const at = frame.scale.x(link.started_at)
  const x = clearVertical(frame, { x: at, rows: between(frame, from, to), low: at - 12, high: at + 12 })
  const down = to.y > from.y
  const start = isClear(frame, from, x) ? laneMiddle(frame, from) : barEdge(frame, from, down ? 'bottom' : 'top')
  const edge = isClear(frame, to, x) ? laneMiddle(frame, to) : barEdge(frame, to, down ? 'top' : 'bottom')
  const target = edge + (down ? -1 : 1)
  layout.paths.push({
    link,
    kind: 'message',
    points: [
      [x, start],
      [x, target],
    ],
    head: down ? 'down' : 'up',
  })
}

/** Handoffs and dependencies: out of the end of one session, into the start of the next or the end of the waiting time. */
function addForward(frame: Frame, { link, from, to }: LinkRows, layout: LinkLayout): void {
  const source = frame.store.get('sessions', link.from_session ?? '')
  const handoff = link.kind === 'handoff'
  const start = frame.scale.x(handoff ? (source?.ended_at ?? link.started_at) : link.started_at) + (handoff ? 3 : 0)
  const target = handoff ? sessionStart(frame, link) : frame.scale.x(link.ended_at ?? link.started_at)
  const end = Math.max(target, start + 1)
  const crossed = between(frame, from, to)
  const wanted = handoff ? Math.max(start, Math.min((start + end) / 2, end - 7)) : start
  const x = clearVertical(frame, { x: wanted, rows: crossed, low: start, high: Math.max(start, end - 5) })
  const down = to.y > from.y
  const first = handoff
    ? laneMiddle(frame, from)
    : rowTop(frame, from) + from.metrics.boxY + (down ? from.metrics.boxHeight : 0)
  const middle = laneMiddle(frame, to)
  const points: Point[] = handoff
    ? [
        [start, first],
        [x, first],
        [x, middle],
        [end, middle],
      ]
    : [
        [x, first],
        [x, middle],
        [end, middle],
      ]
  layout.paths.push({ link, kind: link.kind, points, head: 'right' })
}

/** Out to the expert and back, as one object. */
function addConsultation(frame: Frame, { link, from, to }: LinkRows, layout: LinkLayout): void {
  const down = to.y > from.y
  const edge = barEdge(frame, from, down ? 'bottom' : 'top')
  const middle = laneMiddle(frame, to)
  const start = frame.scale.x(link.started_at)
  const session = frame.store.get('sessions', link.to_session ?? '')
  layout.paths.push({
    link,
    kind: 'consultation',
    points: [
      [start, edge],
      [start, middle],
      [Math.max(start + 1, sessionStart(frame, link)), middle],
    ],
    head: 'right',
  })
  if (link.ended_at === null) return
  const end = frame.scale.x(link.ended_at)
  const answered = Math.min(end, frame.scale.x(session?.ended_at ?? link.ended_at) + 3)
  const points: Point[] = [
    [answered, middle],
    [end, middle],
    [end, edge + (down ? 1 : -1)],
  ]
  layout.paths.push({ link, kind: 'consultation', points, head: down ? 'up' : 'down' })
}
