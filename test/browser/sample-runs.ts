/* Scripted runs with realistic texts: for the pictures, and for tests that need a list. */

const call = (name: string, input: unknown) => ({ name, input })
const delegate = (agent: string, instruction: string) => call('task', { agent, instruction })

export const sampleScript = {
  rules: [
    {
      when: { agent: 'default', turn: 1, says: 'password reset' },
      reply: {
        text: 'Three parts; two can be done side by side.',
        toolCalls: [
          delegate('researcher', 'Read how tokens are stored now, and what the mailer can do.'),
          delegate('architect', 'Write the plan for endpoints and mailer.'),
        ],
        delayMs: 60,
      },
      usage: { input: 18_400, output: 900 },
    },
    {
      when: { agent: 'default', turn: 2, says: 'limit per address' },
      reply: {
        text: 'A limit per address is missing; the package has to be added.',
        toolCalls: [
          call('Write', {
            file_path: 'package.json',
            content: '{\n  "name": "portal",\n  "dependencies": {\n    "rate-limiter-flexible": "^7.1.1"\n  }\n}\n',
          }),
        ],
      },
      usage: { input: 61_200, output: 2_400 },
    },
    { when: { agent: 'default', tool: 'Write' }, reply: { text: 'Done: the limit is in place.' } },
    {
      when: { agent: 'researcher' },
      reply: { text: 'Tokens are stored in plain text; no limit on requests.', delayMs: 200 },
      usage: { input: 32_000, output: 1_200 },
    },
    {
      when: { agent: 'architect' },
      reply: { text: 'Hash tokens, one use, 30 minutes; a limit per address.', delayMs: 320 },
      usage: { input: 28_000, output: 1_900 },
    },
    {
      when: { agent: 'default', turn: 1, says: 'which queue' },
      reply: {
        toolCalls: [call('ask_user', { question: 'Which queue may we run?', choices: ['Postgres', 'NATS', 'SQS'] })],
      },
    },
    { when: { agent: 'default', turn: 2, says: 'Postgres|NATS|SQS' }, reply: { text: 'Then that one.' } },
    { when: { says: 'fails' }, reply: { error: { status: 400, message: 'the model refused the request' } } },
    {
      when: { agent: 'default', turn: 1, says: 'slowly' },
      reply: { text: 'One step at a time.', toolCalls: [delegate('researcher', 'Look it up.')], delayMs: 700 },
    },
    { when: { agent: 'default', tool: 'task' }, reply: { text: 'All of it is done, see above.', delayMs: 300 } },
    {
      reply: { text: 'Done, with a short summary of what was found.', delayMs: 120 },
      usage: { input: 9_000, output: 700 },
    },
  ],
}
