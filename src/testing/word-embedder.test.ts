import { describe, test } from 'vitest'
import { embedderContract } from './embedder-contract.ts'
import { wordEmbedder } from './word-embedder.ts'

embedderContract('the word embedder', wordEmbedder, { describe, test })
