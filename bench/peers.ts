/*
 * Figures of other libraries, measured on another machine: compare orders of magnitude only. The bare loop and the AI SDK
 * are measured here, together with Troupe.
 */

interface Table {
  title: string
  head: readonly string[]
  rows: readonly (readonly string[])[]
}

export const PEERS: readonly Table[] = [
  {
    title: 'no model latency, medians, no persistence',
    head: ['', 'one turn µs', 'with a tool µs', 'fan-out 50 at 50 ms, overhead', 'import ms over Node'],
    rows: [
      ['bare loop', '0.6', '1.4', '1.2 ms', ''],
      ['AgentKit 0.13', '25', '198', '3.8 ms', '640'],
      ['ADK 2.0', '215', '598', '19 ms', '1,970'],
      ['AI SDK 7.0', '226', '545', '14 ms', '190'],
      ['OpenAI Agents 0.20', '374', '1,036', '24 ms', '800'],
      ['VoltAgent 2.10', '1,339', '2,334', '79 ms', '870'],
      ['LangGraph 1.4', '3,754', '6,216', '216 ms', '540'],
      ['Mastra 1.71', '9,114', '24,385', '394 ms', '1,030'],
    ],
  },
  {
    title: '200 durable turns, 120 KB of text',
    head: ['', 'ms per turn, turn 10 → 200', 'bytes ÷ text'],
    rows: [
      ['bare SQLite', '0.06 → 0.04', '1.3×'],
      ['OpenAI RunState', '3.3 → 30', '1.3×'],
      ['ADK', '51 → 64', '2.8×'],
      ['Mastra', '29 → 154', '42×'],
      ['LangGraph SqliteSaver', '6.7 → 53', '522×'],
    ],
  },
  {
    title: '1,000 sessions × 5 turns at 100 ms, relative to the ideal 500 ms',
    head: ['', '× ideal'],
    rows: [
      ['bare loop', '1.05×'],
      ['AgentKit', '1.35×'],
      ['AI SDK 7', '4.8×'],
      ['OpenAI Agents', '9×'],
      ['LangGraph', '51×'],
    ],
  },
]

export function formatPeers(): string[] {
  const lines = ['Other libraries, measured on another machine (orders of magnitude only)']
  for (const { title, head, rows } of PEERS) {
    const all = [head, ...rows]
    const widths = head.map((_, column) => Math.max(...all.map((row) => (row[column] ?? '').length)))
    lines.push('', `  ${title}`)
    for (const row of all) {
      const cells = row.map((cell, column) => cell[column === 0 ? 'padEnd' : 'padStart'](widths[column] ?? 0))
      lines.push(`    ${cells.join('   ')}`.trimEnd())
    }
  }
  return lines
}
