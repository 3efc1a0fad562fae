/* Scripted responses of the demo. The second turn of `default` resumes the researcher's session by its id. */

export const DEMO_INSTRUCTION = 'Should our command line tool store its data in SQLite or in JSON files?'

const taskCall = (agent: string, instruction: string) => ({ name: 'task', input: { agent, instruction } })

export const demoScript = {
  rules: [
    {
      when: { agent: 'default', turn: 1 },
      reply: {
        text: 'Two views are worth having, side by side.',
        toolCalls: [
          taskCall('researcher', 'What do SQLite and JSON files survive when a process is killed while it writes?'),
          taskCall('architect', 'Which of SQLite and JSON files keeps the design of a small tool simpler?'),
        ],
        delayMs: 60,
      },
    },
    {
      when: { agent: 'researcher', turn: 1 },
      reply: {
        text: 'SQLite: a killed process loses nothing that was committed. JSON files: a write that is cut leaves half a file, unless it is written aside and renamed.',
        delayMs: 180,
      },
    },
    {
      when: { agent: 'architect' },
      reply: {
        text: 'JSON files for one small document that one process writes. SQLite as soon as two processes write, or lists grow.',
        delayMs: 260,
      },
    },
    {
      when: { agent: 'default', turn: 2 },
      reply: {
        text: 'One thing is open; the researcher still knows the case.',
        toolCalls: [
          {
            name: 'task',
            input: { session_id: '{{session_id:researcher}}', instruction: 'And two processes at the same time?' },
          },
        ],
        delayMs: 60,
      },
    },
    {
      when: { agent: 'researcher', turn: 2 },
      reply: {
        text: 'SQLite lets one write while others read. With JSON files the second writer silently undoes the first.',
        delayMs: 160,
      },
    },
    {
      when: { agent: 'default', turn: 3 },
      reply: {
        text: 'SQLite. It survives a kill at any moment and two processes at once; JSON files do neither without code that SQLite already has.',
        delayMs: 60,
      },
    },
  ],
  otherwise: 'error',
}
