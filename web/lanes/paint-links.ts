import type { TimelineLink } from '../../src/views/timeline/timeline.ts'
import type { Brush, Context } from './brush.ts'
import { fillRounded, strokeLine } from './brush.ts'
import type { Frame } from './lane-frame.ts'
import { viewRange } from './lane-frame.ts'
import type { LinkLayout, LinkPath, Point } from './link-paths.ts'
import { linkLayout } from './link-paths.ts'
import type { Focus } from './selection-focus.ts'

/* Links below the bars: solid for delegation, dotted for messages, dashed for dependencies, a double head for handoffs. */

export const MOST_LINKS = 40
const CORNER = 4
const DASH: Readonly<Partial<Record<LinkPath['kind'], readonly number[]>>> = {
  message: [1.5, 3],
  consultation: [1.5, 3],
  dependency: [4, 2.5],
}

export type LinkBrush = Brush & { focus: Focus; hover: Focus }

/** Links that are drawn: all in view, or only those of the selection and the pointer when they are too many. */
export function linksInView(frame: Frame, focus: Focus, hover: Focus): readonly TimelineLink[] {
  if (frame.level === 1) return []
  const [from, to] = viewRange(frame)
  const visible = new Set(frame.visible.map(({ id }) => id))
  const seen = (lane: string | null) => lane !== null && visible.has(lane)
  const all = frame.store.rows('links').filter((link) => {
    const end = link.ended_at ?? Infinity
    return link.started_at <= to && end >= from && (seen(link.from) || seen(link.to))
  })
  return all.length <= MOST_LINKS ? all : all.filter(({ id }) => focus.links.has(id) || hover.links.has(id))
}

export function paintLinks(context: Context, frame: Frame, brush: LinkBrush): LinkLayout {
  const layout = linkLayout(frame, linksInView(frame, brush.focus, brush.hover))
  context.save()
  context.beginPath()
  context.rect(0, frame.header, frame.width, frame.height - frame.header)
  context.clip()
  const rank = ({ link }: LinkPath) => (brush.focus.links.has(link.id) ? 2 : brush.hover.links.has(link.id) ? 1 : 0)
  for (const path of [...layout.paths].sort((a, b) => rank(a) - rank(b))) paintPath(context, path, brush)
  context.restore()
  return layout
}

function paintPath(
  context: Context,
  { points, kind, head, link }: LinkPath,
  { palette, focus, hover }: LinkBrush,
): void {
  const { colours } = palette
  const selected = focus.links.has(link.id)
  const colour = selected ? colours.accent : hover.links.has(link.id) ? colours['text-2'] : colours['line-3']
  context.strokeStyle = colour
  context.lineWidth = selected ? 1.75 : 1.25
  context.lineCap = 'round'
  context.setLineDash([...(DASH[kind] ?? [])])
  context.beginPath()
  const [first, ...rest] = points
  if (!first) return
  context.moveTo(first[0], first[1])
  rest.forEach((point, index) => {
    const next = rest[index + 1]
    const before = points[index] ?? point
    if (next) context.arcTo(point[0], point[1], next[0], next[1], corner(before, point, next))
    else context.lineTo(point[0] - (head === 'right' ? 2 : 0), point[1])
  })
  context.stroke()
  context.setLineDash([])
  const tip = points.at(-1) ?? first
  arrowHead(context, tip, { head, colour })
  if (kind === 'handoff') arrowHead(context, [tip[0] - 5, tip[1]], { head, colour })
}

function corner(before: Point, point: Point, next: Point): number {
  const length = (a: Point, b: Point) => Math.abs(a[0] - b[0]) + Math.abs(a[1] - b[1])
  return Math.min(CORNER, length(before, point) / 2, length(point, next) / 2)
}

function arrowHead(
  context: Context,
  [x, y]: Point,
  { head, colour }: { head: LinkPath['head']; colour: string },
): void {
  context.fillStyle = colour
  context.beginPath()
  context.moveTo(x, y)
  if (head === 'right') {
    context.lineTo(x - 5.5, y - 3)
    context.lineTo(x - 5.5, y + 3)
  } else {
    const side = head === 'up' ? 5.5 : -5.5
    context.lineTo(x - 3, y + side)
    context.lineTo(x + 3, y + side)
  }
  context.closePath()
  context.fill()
}

/** Pills of parallel groups stand over the bars: two lines and the number of tasks. */
export function paintPills(
  context: Context,
  frame: Frame,
  { layout, palette, text, focus }: LinkBrush & { layout: LinkLayout },
): void {
  const { colours } = palette
  for (const { x, y, count, links } of layout.pills) {
    if (y < frame.header - 6 || frame.level < 3) continue
    const selected = links.some(({ id }) => focus.links.has(id))
    const width = 28 + (count > 9 ? 6 : 0)
    const stroke = selected ? colours.accent : colours['line-3']
    fillRounded(context, { x: x - 14, y: y - 8, width, height: 16 }, { radius: 8, fill: colours.bg, stroke })
    for (const bar of [x - 6.5, x - 3.5])
      strokeLine(
        context,
        [
          [bar, y - 4],
          [bar, y + 4],
        ],
        { colour: colours['text-2'], width: 1.4 },
      )
    text.draw(context, String(count), { x: x + 1, y: y + 4, style: { colour: colours['text-2'], bold: true } })
  }
}
