import { call, delegate, turns } from './scripted-turns.ts'

/* A question that is delegated to two agents in parallel; the session of one of them is resumed. */

export const STORE_REQUEST = 'Should our command line tool store its data in SQLite or in JSON files?'

export const storeRules = [
  ...turns('default', 'SQLite or in JSON files', [
    {
      text: 'Two views are worth having, side by side.',
      toolCalls: [
        delegate('researcher', 'What do SQLite and JSON files survive when a process is killed while it writes?'),
        delegate('architect', 'Which of SQLite and JSON files keeps the design of a small tool simpler?'),
      ],
      delayMs: 60,
    },
    {
      text: 'One thing is open; the researcher still knows the case.',
      toolCalls: [
        call('task', {
          session_id: '{{session_id:researcher}}',
          instruction: 'And two processes at the same time?',
        }),
      ],
      delayMs: 60,
    },
    {
      text: 'SQLite. It survives a kill at any moment and two processes at once; JSON files do neither without code that SQLite already has.\nThe architect would keep JSON files for one small document that one process writes.',
      delayMs: 60,
    },
  ]),
  ...turns('researcher', 'killed while it writes', [
    {
      text: 'SQLite: a killed process loses nothing that was committed. JSON files: a write that is cut leaves half a file, unless it is written aside and renamed.',
      delayMs: 180,
    },
    {
      text: 'SQLite lets one write while others read. With JSON files the second writer silently undoes the first.',
      delayMs: 160,
    },
  ]),
  ...turns('architect', 'design of a small tool', [
    {
      text: 'JSON files for one small document that one process writes. SQLite as soon as two processes write, or lists grow.',
      delayMs: 260,
    },
  ]),
]
