import { axisTicks, shortDuration } from './axis-ticks.ts'
import type { Brush, Context } from './brush.ts'
import { fillRounded, hatch, snap, strokeLine } from './brush.ts'
import type { Frame } from './lane-frame.ts'
import { bandBoxes, laneMiddle, sessionBoxes, spanX } from './lane-frame.ts'
import type { Focus } from './selection-focus.ts'

/* The ground: rules, ticks, gaps, parallel groups, session boxes, waiting lines, then the axis and the phases over them. */

const AXIS = 22

export function paintGround(context: Context, frame: Frame, brush: Brush & { focus: Focus }): void {
  const { colours } = brush.palette
  context.fillStyle = colours.bg
  context.fillRect(0, 0, frame.width, frame.height)
  const ticks = axisTicks(frame.scale, frame.width)
  for (const { x } of ticks) {
    const at = snap(x, brush.ratio) + 0.5 / brush.ratio
    strokeLine(
      context,
      [
        [at, AXIS],
        [at, frame.height],
      ],
      { colour: colours.line, dash: [1, 3] },
    )
  }
  for (const gap of frame.scale.gaps) {
    const x = frame.scale.x(gap.from)
    context.fillStyle = colours.sunken
    context.fillRect(x + 1, 0, gap.width - 2, frame.height)
  }
  paintInterruptions(context, frame, brush)
  if (frame.level !== 1) {
    paintGroups(context, frame, brush)
    paintRules(context, frame, brush)
    paintSessions(context, frame, brush)
    paintWaits(context, frame, brush)
  } else paintRules(context, frame, brush)
  paintGapEdges(context, frame, brush)
  paintHeader(context, frame, { ...brush, ticks })
}

function paintRules(context: Context, frame: Frame, { palette, ratio }: Brush): void {
  const last = frame.header + frame.rows.height - frame.top
  for (const { y } of frame.rows.labels) {
    const line = snap(frame.header + y - frame.top, ratio) + 0.5 / ratio
    if (line > frame.height || line < 0) continue
    strokeLine(
      context,
      [
        [0, line],
        [frame.width, line],
      ],
      { colour: palette.colours.line },
    )
  }
  strokeLine(
    context,
    [
      [0, last + 0.5],
      [frame.width, last + 0.5],
    ],
    { colour: palette.colours.line },
  )
}

function paintInterruptions(context: Context, frame: Frame, { palette }: Brush): void {
  for (const { kind, session, started_at, ended_at } of frame.store.rows('pauses')) {
    if (kind !== 'interrupted' || session !== null) continue
    const { x, width } = spanX(frame, started_at, ended_at ?? Infinity)
    if (width > 0)
      hatch(
        context,
        { x, y: frame.header, width, height: frame.height },
        { colour: palette.colours['line-2'], alpha: 0.5 },
      )
  }
}

function paintGroups(context: Context, frame: Frame, { palette }: Brush): void {
  for (const group of frame.bands.groups) {
    const { x, width } = spanX(frame, group.from, group.to)
    if (width === 0) continue
    const rows = group.sessions.flatMap(({ lane }) => frame.rows.byLane.get(lane) ?? [])
    const top = Math.min(...rows.map(({ y }) => y))
    const bottom = Math.max(...rows.map(({ y, height }) => y + height))
    const y = frame.header + top - frame.top + 3
    const box = { x: x - 5, y, width: width + (group.to === Infinity ? 5 : 10), height: bottom - top - 6 }
    context.globalAlpha = 0.75
    fillRounded(context, box, { radius: 6, fill: palette.colours.hover })
    context.globalAlpha = 1
  }
}

function paintSessions(context: Context, frame: Frame, { palette, focus, ratio }: Brush & { focus: Focus }): void {
  const { colours } = palette
  for (const row of frame.visible) {
    for (const box of sessionBoxes(frame, row)) {
      const session = row.columns.sessions.rows[box.index]
      const selected = session !== undefined && session.id === focus.session
      const failed = session?.status === 'failed'
      const x = snap(box.x, ratio) + 0.5 / ratio
      const sharp = { ...box, x, y: snap(box.y, ratio) + 0.5 / ratio, width: snap(box.width, ratio) - 1 / ratio }
      fillRounded(context, sharp, {
        radius: row.idle ? 3 : 5,
        fill: colours.surface,
        stroke: selected ? colours.accent : failed ? colours.failed : colours['line-2'],
        lineWidth: selected ? 1.75 : 1,
      })
    }
  }
}

function paintWaits(context: Context, frame: Frame, { palette }: Brush): void {
  for (const row of frame.visible) {
    const y = laneMiddle(frame, row)
    for (const { band, x, width } of bandBoxes(frame, row)) {
      if (band.kind !== 'wait' || width < 10) continue
      strokeLine(
        context,
        [
          [x + 2, y],
          [x + width - 2, y],
        ],
        { colour: palette.colours['line-2'], width: 1.5, dash: [1, 3] },
      )
    }
  }
}

function paintGapEdges(context: Context, frame: Frame, { palette }: Brush): void {
  for (const gap of frame.scale.gaps) {
    const x = frame.scale.x(gap.from)
    if (x > frame.width || x + gap.width < 0) continue
    for (const edge of [x + 1, x + gap.width - 2]) {
      const points: [number, number][] = []
      for (let y = 0, index = 0; y <= frame.height; y += 6, index += 1)
        points.push([edge + (index % 2 ? 1.5 : -1.5), y])
      strokeLine(context, points, { colour: palette.colours['line-2'] })
    }
  }
}

function paintHeader(context: Context, frame: Frame, brush: Brush & { ticks: ReturnType<typeof axisTicks> }): void {
  const { colours } = brush.palette
  context.fillStyle = colours.bg
  context.globalAlpha = 0.92
  context.fillRect(0, 0, frame.width, frame.header)
  context.globalAlpha = 1
  const nowX = frame.live ? frame.scale.x(frame.now) : -1000
  const gaps = frame.scale.gaps.map((gap) => ({ gap, x: frame.scale.x(gap.from) }))
  for (const { gap, x } of gaps) {
    context.fillStyle = colours.sunken
    context.fillRect(x + 2, 0, gap.width - 4, frame.header)
    const middle = { x: x + gap.width / 2, y: 15 }
    const style = { colour: colours['text-2'], halo: colours.sunken, align: 'center' as const }
    if (Math.abs(middle.x - nowX + 26) < 52) continue
    brush.text.draw(context, shortDuration(gap.to - gap.from), { ...middle, style })
  }
  for (const { x, label } of brush.ticks) {
    if (Math.abs(x - nowX + 26) < 62 || gaps.some((gap) => x > gap.x - 16 && x < gap.x + gap.gap.width + 16)) continue
    const half = brush.text.width(context, label) / 2
    if (x < half || x + half > frame.width) continue
    brush.text.draw(context, label, { x, y: 15, style: { colour: colours['text-3'], align: 'center' } })
  }
  for (const phase of frame.store.rows('phases')) {
    const { x, width } = spanX(frame, phase.started_at, phase.ended_at ?? Infinity)
    if (width < 2) continue
    const left = Math.max(x, 2)
    const box = { x: left + 0.5, y: AXIS + 1.5, width: x + width - left - 2, height: 17 }
    if (box.width < 2) continue
    const current = phase.ended_at === null && frame.live
    fillRounded(context, box, { radius: 3, fill: colours.surface, stroke: current ? colours.accent : colours.line })
    const title = brush.text.cut(context, phase.title, { room: box.width - 12 })
    brush.text.draw(context, title, { x: left + 6, y: AXIS + 14, style: { colour: colours['text-2'] } })
  }
  strokeLine(
    context,
    [
      [0, frame.header - 0.5],
      [frame.width, frame.header - 0.5],
    ],
    { colour: colours.line },
  )
}
