import fc from 'fast-check'

// Property tests use a fixed seed to be reproducible. FC_SEED overrides it; a failure prints the seed.
fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(process.env.FC_SEED ?? 20261115) })
