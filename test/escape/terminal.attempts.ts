/** Texts that a terminal would obey, each with a mark. */
export const HOSTILE_TEXTS = [
  '\u001b[2J\u001b[Hcleared',
  '\u001b]0;title\u0007title',
  '\u001b]52;c;Y3VybCBldmls\u0007clipboard',
  '\u001b]8;;https://evil.example\u001b\\link\u001b]8;;\u001b\\',
  '\u001bP+q544e\u001b\\device',
  '\u001b[8mhidden\u001b[0m',
  '\u009b31mc1',
  '\u0090q\u009cc1 device',
  'over\rwritten',
  'back\b\b\b\bspace',
  'ring\u0007bell',
  'right\u202eot-tfel',
  'isolate\u2066d\u2069',
  'mark\u200fed',
  'delete\u007fd',
  '\u001b[6nreport',
]

/** Commands that show what a journal contains. */
export function terminalCommands(run_id: string, gate_id: string): string[][] {
  return [
    ['inbox'],
    ['show', run_id],
    ['show', run_id, '--events'],
    ['show', run_id, '--transcript'],
    ['watch', run_id, '--no-wait'],
    ['runs'],
    ['sessions'],
    ['cost', run_id],
    ['artifacts', run_id],
    ['verify', run_id],
    ['diff', run_id, run_id],
    ['replay', run_id],
    ['answer', gate_id],
    ['answer', `${HOSTILE_TEXTS.join('')}`],
    ['show', `run_${HOSTILE_TEXTS.join('')}`],
    ['no-such-command-\u001b[2J'],
    ['run', 'task', '--agent', `lead${HOSTILE_TEXTS.join('')}`, 'x'],
    ['export', run_id, '--format', 'markdown'],
  ]
}
