import { SQS } from '@aws-sdk/client-sqs';
import { SQS as QuerySQS } from '@aws-sdk/client-sqs-query';

/** Real SDK clients. The older one speaks the Query protocol, as all SDKs did until late 2023. */

const options = (endpoint: string) => ({
  endpoint,
  region: 'us-east-1',
  credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
  maxAttempts: 1,
});

export function jsonClient(endpoint: string): SQS {
  return new SQS(options(endpoint));
}

export function queryClient(endpoint: string): QuerySQS {
  return new QuerySQS(options(endpoint));
}
