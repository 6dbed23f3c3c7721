// The generator makes no type of a response that has one of several. This client asks for one of them.
#pragma once
#include "CppRestOpenAPIClient/model/EventStatus.h"
namespace org::openapitools::client::model {
using ReceiptOrReceiptsOrEventStatus = EventStatus;
}
