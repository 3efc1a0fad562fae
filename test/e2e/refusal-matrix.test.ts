import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { createTroupe } from '../../src/index.ts'
import { contributionJson, noopTool } from '../support/collaboration.ts'
import { runToEnd } from '../support/test-troupe.ts'
import { startServer } from './mock-provider.ts'
import { loadModelAt, PROTOCOLS } from './provider-harness.ts'
import type { ProviderResponse } from './provider-responses.ts'
import { RESPONSE_ENCODERS } from './provider-responses.ts'

/*
 * Servers that refuse parts of a request, in the words of the real ones. Every pattern has to succeed with each of them: what is
 * refused is left out, and nothing else.
 */

interface Body {
  messages?: { role: string; content?: unknown }[]
  tools?: unknown[]
  temperature?: number
  max_tokens?: number
  max_completion_tokens?: number
  response_format?: { type: string; json_schema?: { strict?: boolean; schema: unknown } }
  output_config?: { format?: unknown }
  output_format?: unknown
  generationConfig?: { responseMimeType?: string }
  toolConfig?: { functionCallingConfig?: { mode?: string } }
}

interface Dialect {
  protocol: string
  /** The error message for a request that this server does not accept. */
  refuse(body: Body): string | undefined
}

const hasTools = ({ tools }: Body) => (tools?.length ?? 0) > 0

function refuseByWindow({ max_tokens, max_completion_tokens }: Body): string | undefined {
  const asked = max_tokens ?? max_completion_tokens ?? 0
  if (asked + 120 <= 4096) return undefined
  return `This model's maximum context length is 4096 tokens. However, you requested ${asked + 120} tokens (120 in the messages, ${asked} in the completion). Please reduce the length of the messages or completion.`
}

function refuseRepeatedRoles({ messages = [] }: Body): string | undefined {
  const roles = messages.map(({ role }) => role).filter((role) => role !== 'system')
  const repeats = roles.some((role, index) => role === roles[index - 1] && role !== 'tool')
  return repeats ? 'Conversation roles must alternate user/assistant/user/assistant/...' : undefined
}

const DIALECTS: Readonly<Record<string, Dialect>> = {
  'OpenAI, a reasoning model': {
    protocol: 'OpenAI chat',
    refuse: ({ temperature }) =>
      temperature === undefined || temperature === 1
        ? undefined
        : `Unsupported value: 'temperature' does not support ${temperature} with this model. Only the default (1) value is supported.`,
  },
  'Anthropic, a model without structured output': {
    protocol: 'Anthropic',
    refuse: ({ output_config, output_format }) =>
      output_config?.format !== undefined || output_format !== undefined
        ? 'output_config.format: this model does not support structured outputs'
        : undefined,
  },
  'Gemini, no tools with JSON mode': {
    protocol: 'Gemini',
    refuse: (body) =>
      hasTools(body) && body.generationConfig?.responseMimeType === 'application/json'
        ? "Function calling with a response mime type: 'application/json' is unsupported"
        : undefined,
  },
  'Groq, no schemas, and no tools with JSON mode': {
    protocol: 'OpenAI-compatible',
    refuse(body) {
      if (body.response_format?.type === 'json_schema')
        return 'This model does not support response format `json_schema`. See supported models at our documentation.'
      return body.response_format && hasTools(body)
        ? 'json mode cannot be combined with tool/function calling'
        : undefined
    },
  },
  'Ollama, a model without tools': {
    protocol: 'OpenAI-compatible',
    refuse: (body) => (hasTools(body) ? 'registry.ollama.ai/library/gemma:2b does not support tools' : undefined),
  },
  'vLLM, a window of 4,096 tokens and alternating roles': {
    protocol: 'OpenAI-compatible',
    refuse: (body) => refuseByWindow(body) ?? refuseRepeatedRoles(body),
  },
}

/** Gemini is told to call a function, and answers with the one that takes the answer. */
function answerTo({ toolConfig }: Body, text: string): ProviderResponse {
  const mustCall = toolConfig?.functionCallingConfig?.mode === 'ANY'
  return mustCall ? { call: { name: 'json', arguments: text } } : { text }
}

const table: { dialect: string; pattern: string; accepted: number; refused: number }[] = []
afterAll(() => console.table(table))

async function startDialect({ protocol, refuse }: Dialect, answer: string) {
  const counts = { accepted: 0, refused: 0 }
  const server = await startServer((_request, response, text) => {
    const body = JSON.parse(text) as Body
    const message = refuse(body)
    if (message !== undefined) {
      counts.refused += 1
      response.writeHead(400, { 'content-type': 'application/json' })
      response.end(
        JSON.stringify({
          type: 'error',
          error: { type: 'invalid_request_error', code: 400, status: 'INVALID_ARGUMENT', message },
        }),
      )
      return
    }
    counts.accepted += 1
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(RESPONSE_ENCODERS[protocol]?.(answerTo(body, answer)))
  })
  onTestFinished(server.close)
  const model = await loadModelAt(PROTOCOLS[protocol] as NonNullable<(typeof PROTOCOLS)[string]>, server.url)
  const troupe = await createTroupe({ store: 'memory', model, tools: [noopTool('look_up', 'read')] })
  onTestFinished(() => troupe.close())
  return { troupe, counts }
}

const member = (name: string) => ({ name, role: `${name} of the desk`, instructions: `You are the ${name}.` })

const PATTERNS: Readonly<Record<string, { input: object; answer: string; calls: number }>> = {
  task: { input: { agent: 'architect', instruction: 'Say hello.' }, answer: 'Hello.', calls: 1 },
  collaborate: {
    input: { task: 'Ship it?', agents: ['a', 'b', 'c'].map((name) => ({ name })), categories: ['yes', 'no'] },
    answer: contributionJson('yes'),
    calls: 4,
  },
  team: {
    input: {
      message: 'Write a line.',
      team: {
        name: 'Desk',
        agents: [member('writer'), member('reviewer')],
        handoffs: [{ from_agent: 'writer', to_agent: 'reviewer' }],
        after_work_behavior: 'terminate',
      },
    },
    answer: 'A line.',
    calls: 2,
  },
}

describe.each(Object.entries(DIALECTS))('%s', (name, dialect) => {
  test.each(Object.entries(PATTERNS))('RE12 %s succeeds', async (pattern, { input, answer, calls }) => {
    const { troupe, counts } = await startDialect(dialect, answer)
    const { status, error } = await runToEnd(troupe, pattern, input)
    table.push({ dialect: name, pattern, ...counts })
    expect(error).toBeNull()
    expect(status).toBe('completed')
    expect(counts.accepted).toBe(calls)
    // Requests that are sent at the same time are refused at the same time; later ones know.
    expect(counts.refused).toBeLessThanOrEqual(3)
  })
})
