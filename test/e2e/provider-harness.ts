import type { Model } from '../../src/kernel/model.ts'
import { loadProviderModel } from '../../src/models/providers.ts'
import type { ModelBehavior } from '../../src/testing/model-contract.ts'
import type { Fixture, MockProvider } from './mock-provider.ts'
import { MOCK_API_KEY } from './mock-provider.ts'

/** A provider protocol with its model and environment variables. */
export interface Protocol {
  model: string
  variables: { key: string; base: string }
  /** Finish reason of a refusal in this protocol. */
  refusal: string
}

export const PROTOCOLS: Readonly<Record<string, Protocol>> = {
  Anthropic: {
    model: 'anthropic/claude-haiku-4-5',
    variables: { key: 'ANTHROPIC_API_KEY', base: 'ANTHROPIC_BASE_URL' },
    refusal: 'refusal',
  },
  'OpenAI chat': {
    model: 'openai-chat/gpt-4o',
    variables: { key: 'OPENAI_API_KEY', base: 'OPENAI_BASE_URL' },
    refusal: 'content_filter',
  },
  'OpenAI responses': {
    model: 'openai/gpt-4o',
    variables: { key: 'OPENAI_API_KEY', base: 'OPENAI_BASE_URL' },
    refusal: 'content_filter',
  },
  Gemini: {
    model: 'google/gemini-2.5-flash',
    variables: { key: 'GEMINI_API_KEY', base: 'GEMINI_BASE_URL' },
    refusal: 'content_filter',
  },
  'OpenAI-compatible': {
    model: 'compatible/some-model',
    variables: { key: 'TROUPE_COMPATIBLE_API_KEY', base: 'TROUPE_COMPATIBLE_BASE_URL' },
    refusal: 'content_filter',
  },
}

export function loadModelAt(protocol: Protocol, url: string, key = MOCK_API_KEY): Promise<Model> {
  const { variables } = protocol
  return loadProviderModel(protocol.model, { env: { [variables.key]: key, [variables.base]: url } })
}

/** Usage with the field names of every protocol; the mock uses those it knows. */
export function usageFixture({ input, output }: { input: number; output: number }) {
  return {
    usage: {
      prompt_tokens: input,
      completion_tokens: output,
      input_tokens: input,
      output_tokens: output,
      promptTokenCount: input,
      candidatesTokenCount: output,
    },
  }
}

/** Fixture of the mock for a behaviour of the model contract. */
export function fixtureFor(userMessage: string, behavior: ModelBehavior, protocol: Protocol): Fixture {
  const match = { userMessage }
  switch (behavior.kind) {
    case 'text': {
      const { text, stop, usage = { input: 1, output: 1 } } = behavior
      const finishReason = stop === 'refusal' ? protocol.refusal : stop
      return { match, response: { content: text, ...usageFixture(usage), ...(stop && { finishReason }) } }
    }
    case 'tool-calls':
      return { match, response: { toolCalls: behavior.calls } }
    case 'error':
      return { match, response: { error: { message: behavior.message }, status: behavior.status } }
    case 'slow':
      return { match, response: { content: 'late' }, streamingProfile: { ttft: 60_000 } }
    case 'cut':
      // With a delay per chunk: the mock destroys its socket, and buffered chunks with it.
      return { match, response: { content: behavior.text }, truncateAfterChunks: 6, latency: 10 }
  }
}

/** Harness of the model contract: a real provider package with the mock. */
export function providerHarness(mock: () => MockProvider, protocol: Protocol) {
  return {
    async createModel(behaviors: Record<string, ModelBehavior>): Promise<Model> {
      await mock().setFixtures(
        Object.entries(behaviors).map(([userMessage, behavior]) => fixtureFor(userMessage, behavior, protocol)),
      )
      return loadModelAt(protocol, mock().url)
    },
    dispose: () => {},
  }
}
