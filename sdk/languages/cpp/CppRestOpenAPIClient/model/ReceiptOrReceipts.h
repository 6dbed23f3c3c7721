// The generator makes no type of a response that has one of several. This client asks for one of them.
#pragma once
#include "CppRestOpenAPIClient/model/Receipt.h"
namespace org::openapitools::client::model {
using ReceiptOrReceipts = Receipt;
}
